import { condition } from '@temporalio/workflow';
import type { ProposedCall } from '../contracts/activities.ts';
import { abandon, attachCall, settleEnd, type AttachEnd, type Round } from './attach-call.ts';
import { isQuestion } from '../contracts/questions/question.ts';
import { ANSWERED, askAboutMethod, type Code } from './ask-about-method.ts';
import { beginAttach, closeClientCall, openClientCall } from './state/client-calls.ts';
import { startWork, stopWork } from './state/budget-state.ts';
import { untilAnswered } from './follow-client-tool.ts';
import { mustEnd } from './state/conversation-state.ts';
import { isLong, isVeryLong } from './move-on.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { hasPlace, isAway } from './state/place-state.ts';
import { restWhilePaused } from './pause.ts';
import { rest } from './rest.ts';
import type { RunningConversation } from './running.ts';
import { settle, type StepPlace } from './settle.ts';
import { untilAdmitted, untilReady } from './sub-agents.ts';
import { giveBackPlace, regainPlace } from './turn-place.ts';

/** One call whose code calls tools, with the state of all calls under it. */
interface Script {
  running: RunningConversation;
  place: StepPlace;
  round: Round;
  /** Calls that are attached to, or are about to be. */
  busy: number;
  attached: number;
  /** The sandbox goes to rest, or a pause holds it: no call is attached to now. */
  resting: boolean;
  /** Calls whose sub-agents have had their share of the budget. */
  admitted: Set<string>;
  over: boolean;
}

const CODE_ENDED = 'The code that asked for this call has ended; it was not run.';

/**
 * Continues a call whose code waits for calls of its own: runs those, and attaches to the code again to deliver their results, until the code has
 * ended. `mayBeLeft`: when this run is long, it returns `detached` between two of these calls, for a new run to go on. While everything waits, only the state of this workflow is held, and the sandbox rests.
 */
export async function followScript(
  running: RunningConversation,
  place: StepPlace,
  { call, calls, mayBeLeft }: { call: ProposedCall; calls: ProposedCall[]; mayBeLeft: boolean },
): Promise<AttachEnd> {
  const { data } = running;
  const script: Script = { running, place, round: {}, busy: 0, attached: 0, resting: false, admitted: new Set(), over: false };
  data.detachedCalls += 1;
  const following = follow(script, call, calls, mayBeLeft);
  const keeping = keepRest(script);
  try {
    return await following;
  } finally {
    script.over = true;
    await keeping;
    data.detachedCalls -= 1;
  }
}

/** Returns how the code ended; `detached` when the code still waits, and the turn has to end or, if the code `mayBeLeft`, should go on in a new run. */
async function follow(script: Script, call: ProposedCall, calls: ProposedCall[], mayBeLeft = false): Promise<AttachEnd> {
  const { running } = script;
  const { data } = running;
  const code: Code = { ended: false };
  const open = new Map<string, Promise<void>>();
  const begin = (fresh: ProposedCall[]) => {
    for (const method of fresh.filter(({ callId }) => !open.has(callId))) {
      open.set(
        method.callId,
        runMethod(script, code, method).finally(() => open.delete(method.callId)),
      );
    }
  };
  const isToLeave = () => mayBeLeft && (open.size === 0 ? isLong() : isVeryLong());
  begin(calls);
  for (let looks = 0; ; looks += 1) {
    const known = [...open.keys()];
    const end = await attachWithin(script, call, known);
    if (end.outcome === 'suspended') {
      if (isToLeave()) {
        // Code that makes several calls at a time may never be without one: new ones wait for the next run.
        await condition(() => mustEnd(data) || open.size === 0);
        if (!mustEnd(data)) return { outcome: 'detached', sandboxTier: data.sandboxTier };
        continue;
      }
      begin(end.calls);
      if (call.client) await untilAnswered(running, call, { ...end.client, looks });
      else if (call.waits) await untilReady(running, call, end);
      else if (end.calls.length === 0) await condition(() => mustEnd(data) || known.some((callId) => !open.has(callId)));
      continue;
    }
    if (isLetGo(end) && !mustEnd(data)) continue;
    code.ended = true;
    await Promise.all(open.values());
    return isLetGo(end) ? { outcome: 'detached', sandboxTier: data.sandboxTier } : end;
  }
}

/** Runs one call of code, from its approval to its result in the ledger. */
async function runMethod(script: Script, code: Code, call: ProposedCall): Promise<void> {
  const { data } = script.running;
  if (call.client) openClientCall(data, call);
  try {
    await runToEnd(script, code, call);
  } finally {
    closeClientCall(data, call.callId);
  }
}

async function runToEnd(script: Script, code: Code, call: ProposedCall): Promise<void> {
  const { running, place } = script;
  const { data } = running;
  const refused = await askAboutMethod(running, place, code, call);
  if (refused) return settle(running, place, call, refused.settlement, refused.message);
  if (isQuestion(call.tool)) return settle(running, place, call, ANSWERED.settlement, ANSWERED.message);
  let started = false;
  for (;;) {
    if (code.ended && !started) return settle(running, place, call, 'interrupted', CODE_ENDED);
    if (mustEnd(data)) return abandon(running, place, call, started);
    const first = await attachWithin(script, call, []);
    started ||= first.outcome !== 'cancelled';
    const end = first.outcome === 'suspended' ? await follow(script, call, first.calls) : first;
    if (!isLetGo(end)) return settleEnd(running, place, call, end);
  }
}

function isLetGo({ outcome }: AttachEnd): boolean {
  return outcome === 'detached' || outcome === 'cancelled';
}

/** Attaches when the turn has its place, and no pause and no rest prevents it; `cancelled` when the turn has to end. */
async function attachWithin(script: Script, call: ProposedCall, open: string[]): Promise<AttachEnd> {
  const { running, place } = script;
  const { data } = running;
  if (call.share && !script.admitted.has(call.callId)) {
    await untilAdmitted(running, call);
    script.admitted.add(call.callId);
  }
  script.busy += 1;
  try {
    await condition(() => mustEnd(data) || (!script.resting && !pauseIsDue(data, 'call') && !isAway(data)));
    if (mustEnd(data)) return { outcome: 'cancelled' };
    script.attached += 1;
    beginAttach(data, call.callId);
    return await attachCall(running, place, call, script.round, open).finally(() => {
      script.attached -= 1;
    });
  } finally {
    script.busy -= 1;
  }
}

/** Lets the sandbox rest whenever the whole script waits, and prevents attaches during a pause `now`. */
async function keepRest(script: Script): Promise<void> {
  const { running } = script;
  const { data } = running;
  for (;;) {
    await condition(() => script.over || mustEnd(data) || pauseIsDue(data, 'call') || script.busy === 0 || needsPlace(script));
    if (script.over || mustEnd(data)) return;
    if (pauseIsDue(data, 'call')) {
      await holdForPause(script);
      continue;
    }
    if (needsPlace(script)) {
      await regainPlace(running, 'call', () => script.over);
      continue;
    }
    script.resting = true;
    stopWork(data, Date.now());
    await running.save();
    // Between two calls of its code, the turn keeps its place.
    if (hasPlace(data) && script.busy === 0) await giveBackPlace(running);
    await rest(running, () => script.over || mustEnd(data) || pauseIsDue(data, 'call') || script.busy > 0);
    if (!data.paused) startWork(data, Date.now());
    script.resting = false;
  }
}

/** Calls that would be attached to wait for the turn's place. */
function needsPlace({ running, busy, attached }: Script): boolean {
  return isAway(running.data) && busy > attached;
}

async function holdForPause(script: Script): Promise<void> {
  const { running } = script;
  // The attached calls detach by themselves.
  await condition(() => script.attached === 0);
  if (script.round.freezing) await script.round.freezing;
  script.round = {};
  script.resting = true;
  await restWhilePaused(running, 'call', () => script.over);
  script.resting = false;
}
