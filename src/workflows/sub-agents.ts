import { condition, log, patched } from '@temporalio/workflow';
import type { ExecuteToolResult, ProposedCall } from '../contracts/activities.ts';
import type { LiveSubAgent } from '../contracts/conversation.ts';
import type { CarriedConversation } from '../contracts/conversation-run.ts';
import { closeSubAgent, holdSubAgent } from './activities.ts';
import { patience } from './move-on.ts';
import { mustEnd } from './state/conversation-state.ts';
import { addSubAgent, endSubAgent, noteStarted, shareOf } from './state/sub-agents.ts';
import type { ConversationData } from './state/conversation-data.ts';
import type { RunningConversation } from './running.ts';

type IsOver = () => boolean;
type Suspended = Extract<ExecuteToolResult, { outcome: 'suspended' }>;

/** Patch id. Before it, a pause `now` after one at the end of the step was not passed on. */
const NOW_AFTER_STEP = 'now-after-step';
/** Patch id. Before it, sub-agents stayed paused when a run began with the end of a pause that they were asked for by the run before. */
const RESUMED_AT_BEGIN = 'resumed-at-begin';
/** The report of an end may be lost. Milliseconds. */
const LOOK_AGAIN_MS = 60 * 60_000;
/** So may the news of a place. Milliseconds. */
const LOOK_FOR_PLACE_MS = 5 * 60_000;
/** Time in which sub-agents may close with their parent. Milliseconds. */
const CLOSING_MS = 60_000;

const never = () => false;

/** Waits until the sub-agent of a call has its share of the budget, until `isOver`, or until the turn has to end. */
export async function untilAdmitted({ data }: RunningConversation, call: ProposedCall, isOver: IsOver = never): Promise<void> {
  addSubAgent(data, call, Date.now());
  await condition(() => mustEnd(data) || isOver() || shareOf(data, call.callId) !== undefined);
}

/** Waits for what a suspended call of an agent tool waits for, until it is to be looked for, until `isOver`, or until the turn has to end. */
export function untilReady(running: RunningConversation, call: ProposedCall, { waitsFor, waitsForPlace }: Suspended, isOver: IsOver = never): Promise<void> {
  return waitsForPlace ? untilPlaced(running, call, isOver) : untilEnded(running, call, waitsFor, isOver);
}

/** Waits until the sub-agent of a call has a place in the tree of conversations. */
async function untilPlaced({ data }: RunningConversation, { callId }: ProposedCall, isOver: IsOver): Promise<void> {
  await condition(() => mustEnd(data) || isOver() || data.placedAgents.includes(callId), LOOK_FOR_PLACE_MS * patience(), {
    summary: 'a place in the tree of conversations',
  });
  data.placedAgents = data.placedAgents.filter((other) => other !== callId);
}

/** Waits until the sub-agents that a call waits for have reported their ends. */
async function untilEnded({ data }: RunningConversation, { callId, share }: ProposedCall, awaited: string[] = [], isOver: IsOver): Promise<void> {
  const [own] = awaited;
  if (share && own !== undefined) noteStarted(data, callId, own);
  data.awaitedAgents.push(...awaited);
  const isAwaited = ({ conversationId }: LiveSubAgent) => conversationId !== undefined && awaited.includes(conversationId);
  await condition(() => mustEnd(data) || isOver() || !data.subAgents.some(isAwaited), LOOK_AGAIN_MS * patience(), { summary: 'look at the sub-agents' });
  // A new run waits for them.
  if (isOver()) return;
  data.awaitedAgents = data.awaitedAgents.filter((other) => !awaited.includes(other));
}

/** Closes the sub-agent of a call that nobody waits for. What is put aside for it comes back when it has ended. */
export async function letGoOfSubAgent(running: RunningConversation, callId: string): Promise<void> {
  const { data } = running;
  if (!data.subAgents.some((live) => live.callId === callId)) return;
  const { spent } = await closeSubAgent({ conversationId: data.conversationId, callId });
  if (spent) running.change(() => endSubAgent(data, callId, spent, Date.now()));
}

/** Closes all sub-agents, and gives them time to do so. One that takes longer closes without its parent. */
export async function closeSubAgents(running: RunningConversation): Promise<void> {
  const { data } = running;
  if (data.subAgents.length === 0) return;
  await Promise.all(data.subAgents.map(({ callId }) => letGoOfSubAgent(running, callId)));
  await condition(() => data.subAgents.length === 0, CLOSING_MS, { summary: 'sub-agents close' });
}

/** How sub-agents were asked to pause, by their calls; `earlier`: by a run before this one. */
type Held = Map<string, 'step' | 'now' | 'earlier'>;

/**
 * Pauses sub-agents while an operator's pause of this conversation is due or lasts, and resumes them after it. Runs as long as the conversation.
 * What has begun to tell them ends with the run.
 */
export function passOnPauses(running: RunningConversation, carried?: CarriedConversation): void {
  const held: Held = new Map(heldBefore(carried).map((callId) => [callId, 'earlier']));
  const telling = { isUnderWay: false };
  void keepTelling(running, held, telling);
  running.hasPassedOnPauses = () => !telling.isUnderWay && toTell(running.data, held).length === 0;
}

async function keepTelling({ data }: RunningConversation, held: Held, telling: { isUnderWay: boolean }): Promise<void> {
  for (;;) {
    await condition(() => data.closed || toTell(data, held).length > 0);
    if (data.closed) return;
    const pause = pauseOf(data);
    const told = toTell(data, held);
    telling.isUnderWay = true;
    for (const callId of told)
      if (pause) held.set(callId, pause);
      else held.delete(callId);
    const ends = await Promise.allSettled(told.map((callId) => holdSubAgent({ conversationId: data.conversationId, callId, ...(pause && { pause }) })));
    for (const end of ends) if (end.status === 'rejected') log.warn('A pause could not be passed on to a sub-agent', { error: String(end.reason) });
    telling.isUnderWay = false;
  }
}

/** Calls whose sub-agents have to be paused or resumed. */
function toTell(data: ConversationData, held: Held): string[] {
  const pause = pauseOf(data);
  return data.subAgents.filter(({ callId, conversationId }) => conversationId !== undefined && differs(held.get(callId), pause)).map(({ callId }) => callId);
}

/** A pause that has become one `now` is passed on, too. */
function differs(told: 'step' | 'now' | 'earlier' | undefined, pause: 'step' | 'now' | undefined): boolean {
  if (told === 'earlier') return pause !== undefined || patched(RESUMED_AT_BEGIN);
  if (told === 'step' && pause === 'now') return patched(NOW_AFTER_STEP);
  return (told === undefined) !== (pause === undefined);
}

/** Those that the earlier run has asked to pause: no run ends before all of them know. */
function heldBefore(carried: CarriedConversation | undefined): string[] {
  if (!carried || pauseOf(carried) === undefined) return [];
  return carried.subAgents?.flatMap(({ callId, conversationId }) => (conversationId === undefined ? [] : [callId])) ?? [];
}

/** How an operator has paused the conversation, or wishes to. */
function pauseOf({ pauseWish, paused, pausedHow = 'step' }: Pick<ConversationData, 'pauseWish' | 'paused' | 'pausedHow'>): 'step' | 'now' | undefined {
  if (pauseWish?.reason.by === 'operator') return pauseWish.mode;
  return paused?.by === 'operator' ? pausedHow : undefined;
}
