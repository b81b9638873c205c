import { ActivityFailure, CancellationScope, condition, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { ExecuteToolResult, ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { executeTool, interruptCall, settleCall } from './activities.ts';
import { mustEnd } from './conversation-state.ts';
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
    await restWhilePaused(running, 'call');
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

async function attachAll(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<[ProposedCall, AttachEnd][]> {
  const { data } = running;
  let over = false;
  // A pause `now` stops the commands at once, while the executors are still letting go of them.
  const freezing = condition(() => over || data.pauseWish?.mode === 'now').then(() =>
    over || !calls.some(({ needsSandbox }) => needsSandbox) ? undefined : freeze(running),
  );
  data.runningCalls.push(...calls.map(({ callId, tool }) => ({ callId, tool })));
  running.show();
  const ends = await Promise.all(calls.map(async (call): Promise<[ProposedCall, AttachEnd]> => [call, await attach(running, place, call)]));
  over = true;
  await freezing;
  return ends;
}

async function attach(running: RunningConversation, { turnId, stepId }: StepPlace, call: ProposedCall): Promise<AttachEnd> {
  const { data } = running;
  const { conversationId, agentId, userId, tenantId } = data;
  const { callId, tool, hash, timeoutMs, needsSandbox } = call;
  const scope = new CancellationScope();
  let over = false;
  const watching = watch(running, call, scope, () => over);
  try {
    const end = await scope.run(() =>
      executeTool(call, { conversationId, agentId, userId, tenantId, turnId, stepId, callId, tool, hash, timeoutMs, needsSandbox }),
    );
    if (needsSandbox) data.sandboxTier = end.sandboxTier;
    return end;
  } catch (error) {
    return failedAttach(call, error);
  } finally {
    over = true;
    await watching;
    data.runningCalls = data.runningCalls.filter((running) => running.callId !== callId);
    running.show();
  }
}

/** Lets go of a running call for a pause `now`, and ends it when the turn has to end. */
async function watch({ data }: RunningConversation, call: ProposedCall, scope: CancellationScope, over: () => boolean): Promise<void> {
  const pausesNow = () => call.needsSandbox && data.pauseWish?.mode === 'now';
  await condition(() => over() || mustEnd(data) || pausesNow());
  if (over()) return;
  if (!mustEnd(data) || !call.needsSandbox) return scope.cancel();
  try {
    await interruptCall(call.summary, data.conversationId, call.callId);
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
  const end = await attach(running, place, call);
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
