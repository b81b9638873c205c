import type { CancellationScope } from '@temporalio/workflow';
import { withoutArguments } from '../common/calls/inline-arguments.ts';
import type { ProposedCall } from '../contracts/activities.ts';
import type { OpenStep } from '../contracts/conversation-run.ts';
import { abandon, attachCall, settleEnd, type AttachEnd, type Round } from './attach-call.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { mustEnd } from './state/conversation-state.ts';
import { isLong, movesOn, mustStop } from './move-on.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { isAway } from './state/place-state.ts';
import { waitsForOthers } from './state/client-calls.ts';
import { restWhilePaused } from './pause.ts';
import { followClientTool } from './follow-client-tool.ts';
import { followSubAgent, restingMeanwhile } from './follow-sub-agent.ts';
import { followScript } from './run-script.ts';
import type { RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';
import { regainPlace } from './turn-place.ts';

type CallEnd = [ProposedCall, AttachEnd];

/**
 * Runs a step's calls: adjacent calls that only read, or that clients run, run at the same time, all others one after the other. Calls that a pause detached are attached to again
 * afterwards. `moves`: a new run goes on with what is `left` of the step. It is one loop in one function, because the SDK takes a stack
 * trace for every promise of a workflow, and each `async` and each `await` creates one.
 */
export async function runCalls(running: RunningConversation, place: StepPlace, step: OpenStep): Promise<'done' | 'moves'> {
  const { data } = running;
  const started = new Set(step.begun);
  const scopes: CancellationScope[] = [];
  const all = batches(step.left);
  for (const [index, batch] of all.entries()) {
    for (let waiting = batch; waiting.length > 0;) {
      if (mayNotWork(data, waiting, started)) await untilMayWork(running);
      if (mustEnd(data)) {
        await Promise.all(waiting.map((call) => abandon(running, place, call, started.has(call.callId))));
        break;
      }
      if (isLong()) {
        leave(step, [waiting, ...all.slice(index + 1)].flat(), started);
        if (await movesOn(running, 'call', step)) return 'moves';
        // Nothing begins for a turn that has ended meanwhile.
        if (mustStop(running, 'call')) continue;
      }
      for (const { callId } of waiting) started.add(callId);
      const round: Round = { scopes, isAlone: waiting.length === 1, mayBeLeft: !isLong() };
      const ends = await attachToEnds(running, place, waiting, round);
      if (round.freezing) await round.freezing;
      const { finished, unsettled, detached } = sortEnds(data, ends);
      for (const [{ callId }, onlyNoted] of finished) step.succeeded[callId] = onlyNoted;
      for (const [call, end] of unsettled) await settleEnd(running, place, call, end);
      data.detachedCalls = detached.filter((call) => !waitsForOthers(call)).length;
      waiting = detached;
    }
  }
  return 'done';
}

/** Notes what a new run has to go on with. The arguments of calls were for the person who was asked about them. */
function leave(step: OpenStep, left: ProposedCall[], started: Set<string>): void {
  step.left = left.map(withoutArguments);
  step.calls = step.calls.map(withoutArguments);
  step.begun = left.map(({ callId }) => callId).filter((callId) => started.has(callId));
}

/** A look at calls that only wait for clients and sub-agents needs no place. */
function mayNotWork(data: ConversationData, calls: ProposedCall[], started: Set<string>): boolean {
  return pauseIsDue(data, 'call') || (isAway(data) && !calls.every((call) => waitsForOthers(call) && started.has(call.callId)));
}

async function untilMayWork(running: RunningConversation): Promise<void> {
  const { data } = running;
  if (pauseIsDue(data, 'call')) await restWhilePaused(running, 'call');
  if (isAway(data)) await workAgain(running);
}

/** Waits for the place of the turn, and while a pause is due. */
async function workAgain(running: RunningConversation): Promise<void> {
  const { data } = running;
  for (;;) {
    await regainPlace(running, 'call');
    if (!pauseIsDue(data, 'call') || mustEnd(data)) return;
    await restWhilePaused(running, 'call');
  }
}

interface SortedEnds {
  /** Calls that finished without an error. */
  finished: [ProposedCall, onlyNoted: boolean][];
  /** Calls without a result of their own. */
  unsettled: CallEnd[];
  /** Detached calls, to be attached to again. */
  detached: ProposedCall[];
}

function sortEnds(data: ConversationData, ends: CallEnd[]): SortedEnds {
  const sorted: SortedEnds = { finished: [], unsettled: [], detached: [] };
  for (const [call, end] of ends) {
    if (end.outcome === 'detached' || (end.outcome === 'cancelled' && !mustEnd(data))) sorted.detached.push(call);
    else if (end.outcome === 'cancelled' || end.outcome === 'failed') sorted.unsettled.push([call, end]);
    else if (end.outcome === 'finished' && !end.isError) sorted.finished.push([call, end.onlyNoted === true]);
  }
  return sorted;
}

function batches(calls: ProposedCall[]): ProposedCall[][] {
  const all: ProposedCall[][] = [];
  for (const call of calls) {
    const last = all.at(-1);
    if (mayRunBeside(call) && last?.[0] && mayRunBeside(last[0])) last.push(call);
    else all.push([call]);
  }
  return all;
}

/** Calls that only read, and calls that clients run: these decide themselves what they do first. */
function mayRunBeside({ readOnly, client }: ProposedCall): boolean {
  return readOnly || client === true;
}

function attachToEnds(running: RunningConversation, place: StepPlace, calls: ProposedCall[], round: Round): Promise<CallEnd[]> {
  const attached = together(calls.map((call) => attachToEnd(running, place, call, round)));
  return calls.some(waitsForOthers) ? restingMeanwhile(running, attached) : attached;
}

/** Attaches to a call. When its code waits for calls of its own, a client runs it, or it has a sub-agent, follows it until that has ended. */
function attachToEnd(running: RunningConversation, place: StepPlace, call: ProposedCall, round: Round): Promise<CallEnd> {
  if (call.client) return followClientTool(running, place, call, round).then((last) => [call, last]);
  if (call.share || call.waits) return followSubAgent(running, place, call, round).then((last) => [call, last]);
  return attachCall(running, place, call, round).then((end) =>
    end.outcome === 'suspended' ? followCode(running, place, { call, calls: end.calls }, round) : [call, end],
  );
}

function followCode(running: RunningConversation, place: StepPlace, code: { call: ProposedCall; calls: ProposedCall[] }, round: Round): Promise<CallEnd> {
  round.scripts = (round.scripts ?? 0) + 1;
  return followScript(running, place, { ...code, mayBeLeft: round.isAlone === true }).then((last) => {
    round.scripts = (round.scripts ?? 1) - 1;
    return [code.call, last];
  });
}

/** As `Promise.all`, but without additional promises for a single one, the usual case. */
function together<T>(promises: Promise<T>[]): Promise<T[]> {
  const [only, ...others] = promises;
  return only && others.length === 0 ? only.then((value) => [value]) : Promise.all(promises);
}
