import { ActivityFailure, CancellationScope, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { ExecuteToolResult, ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { executeTool, interruptCall, settleCall } from './activities.ts';
import { mustEnd, pauseIsDue } from './conversation-state.ts';
import { freeze, restWhilePaused } from './pause.ts';
import type { RunningConversation } from './running.ts';

/** Where in the conversation calls belong. */
export interface StepPlace {
  turnId: string;
  stepId: string;
}
/** How one attach ended: as the tool says, without an answer because we cancelled it, or by a failure that retries did not mend. */
type AttachEnd = ExecuteToolResult | { outcome: 'cancelled' } | { outcome: 'failed'; settlement: 'failed' | 'unknown'; message: string };

const INTERRUPTED = 'Interrupted: the turn was ended before this call had a result.';

/** Runs a step's calls: neighbours that only read run side by side, all others one after the other. Returns the calls that finished without an error. */
export async function runCalls(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<ProposedCall[]> {
  const succeeded: ProposedCall[] = [];
  for (const batch of batches(calls)) succeeded.push(...(await runBatch(running, place, batch)));
  return succeeded;
}

function batches(calls: ProposedCall[]): ProposedCall[][] {
  const all: ProposedCall[][] = [];
  for (const call of calls) {
    const last = all.at(-1);
    if (call.readOnly && last?.[0]?.readOnly) last.push(call);
    else all.push([call]);
  }
  return all;
}

/** Attaches to every call of a batch until each has its result; calls let go of by a pause are attached again afterwards. */
async function runBatch(running: RunningConversation, place: StepPlace, batch: ProposedCall[]): Promise<ProposedCall[]> {
  const { data } = running;
  const succeeded: ProposedCall[] = [];
  const started = new Set<string>();
  for (let waiting = batch; waiting.length > 0;) {
    if (pauseIsDue(data, 'call')) await restWhilePaused(running, 'call');
    if (mustEnd(data)) {
      await Promise.all(waiting.map((call) => abandon(running, place, call, started.has(call.callId))));
      return succeeded;
    }
    for (const { callId } of waiting) started.add(callId);
    const ends = await attachAll(running, place, waiting);
    const detached: ProposedCall[] = [];
    for (const [call, end] of ends) {
      if (end.outcome === 'finished' && !end.isError) succeeded.push(call);
      if (end.outcome === 'detached' || (end.outcome === 'cancelled' && !mustEnd(data))) detached.push(call);
      else await settleEnd(running, place, call, end);
    }
    data.detachedCalls = detached.length;
    waiting = detached;
  }
  return succeeded;
}

/** Attaches to calls side by side; what a pause `now` freezes meanwhile is frozen when this returns. */
async function attachAll(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<[ProposedCall, AttachEnd][]> {
  const round: Round = {};
  running.data.runningCalls.push(...calls.map(({ callId, tool }) => ({ callId, tool })));
  running.show();
  const ends = await all(calls.map((call) => attach(running, place, call, round)));
  if (round.freezing) await round.freezing;
  return ends;
}

/** As `Promise.all`, without the promises that it makes of its own for a single one, the usual case: the SDK takes a stack trace for every promise. */
function all<T>(promises: Promise<T>[]): Promise<T[]> {
  const [only, ...others] = promises;
  return only && others.length === 0 ? only.then((value) => [value]) : Promise.all(promises);
}

/** What calls that run side by side share. */
interface Round {
  freezing?: Promise<void>;
}
/** A call under way: what lets go of it, and the interruption that it has to wait for. */
interface Attached {
  call: ProposedCall;
  scope: CancellationScope;
  round: Round;
  interrupting?: Promise<void>;
}

async function attach(running: RunningConversation, { turnId, stepId }: StepPlace, call: ProposedCall, round: Round): Promise<[ProposedCall, AttachEnd]> {
  const { data } = running;
  const { conversationId, agentId, userId, tenantId } = data;
  const { callId, tool, hash, timeoutMs, needsSandbox } = call;
  const attached: Attached = { call, scope: new CancellationScope(), round };
  const args = { conversationId, agentId, userId, tenantId, turnId, stepId, callId, tool, hash, timeoutMs, needsSandbox };
  const answer = attached.scope.run(() => executeTool(call, args));
  const unwatch = running.watch(() => heed(running, attached));
  let end: AttachEnd;
  try {
    end = await answer;
    // A tool of the host may have woken it, to put a file there.
    if (needsSandbox || end.sandboxTier === 'running') data.sandboxTier = end.sandboxTier;
  } catch (error) {
    end = failedAttach(call, error);
  } finally {
    unwatch();
  }
  if (attached.interrupting) await attached.interrupting;
  data.runningCalls = data.runningCalls.filter((running) => running.callId !== callId);
  running.show();
  return [call, end];
}

/** Lets go of a running call for a pause `now`, and ends it when the turn has to end. */
function heed(running: RunningConversation, attached: Attached): void {
  const { data } = running;
  const { call, scope, round } = attached;
  if (scope.consideredCancelled) return;
  if (mustEnd(data)) {
    if (call.needsSandbox) attached.interrupting ??= interrupt(data.conversationId, attached);
    else scope.cancel();
  } else if (call.needsSandbox && data.pauseWish?.mode === 'now') {
    // The commands stop at once, while their executors are still letting go of them.
    round.freezing ??= freeze(running);
    scope.cancel();
  }
}

async function interrupt(conversationId: string, { call, scope }: Attached): Promise<void> {
  try {
    await interruptCall(call.summary, conversationId, call.callId);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    scope.cancel();
  }
}

function failedAttach(call: ProposedCall, error: unknown): AttachEnd {
  if (isCancellation(error)) return { outcome: 'cancelled' };
  if (!(error instanceof ActivityFailure)) throw error;
  const timedOut = error.cause instanceof TimeoutFailure;
  if (timedOut && call.retry === 'once') {
    return {
      outcome: 'failed',
      settlement: 'unknown',
      message: 'The worker that ran this call died or stopped answering; nobody knows whether it took effect. It was not run again.',
    };
  }
  return { outcome: 'failed', settlement: 'failed', message: `${call.tool} failed: ${error.cause?.message ?? error.message}` };
}

async function settleEnd(running: RunningConversation, place: StepPlace, call: ProposedCall, end: AttachEnd): Promise<void> {
  if (end.outcome === 'failed') await settle(running, place, call, end.settlement, end.message);
  // Cancelled at the end of a turn: an executor that could still answer would have said `interrupted` itself.
  else if (end.outcome === 'cancelled') await settle(running, place, call, 'interrupted', INTERRUPTED);
}

/** Gives a call of an ended turn its result; a command that a pause left in the sandbox is ended first, and what it said is kept. */
async function abandon(running: RunningConversation, place: StepPlace, call: ProposedCall, started: boolean): Promise<void> {
  if (!started || !call.needsSandbox) return settle(running, place, call, 'interrupted', INTERRUPTED);
  const [, end] = await attach(running, place, call, {});
  if (end.outcome !== 'detached' && end.outcome !== 'cancelled') return settleEnd(running, place, call, end);
  await settle(running, place, call, 'unknown', 'The turn was ended, but the sandbox could not be reached; nobody knows how far this call came.');
}

/** Gives a call that has no result of its own one that the model can read. */
export async function settle(
  running: RunningConversation,
  place: StepPlace,
  call: ProposedCall,
  settlement: SettleCallArgs['settlement'],
  message: string,
): Promise<void> {
  const { callId, tool } = call;
  await settleCall({ conversationId: running.data.conversationId, turnId: place.turnId, stepId: place.stepId, callId, tool, settlement, message });
}
