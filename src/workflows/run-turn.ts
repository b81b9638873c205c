import { ActivityFailure, CancellationScope, isCancellation, patched } from '@temporalio/workflow';
import type { CallModelResult } from '../contracts/activities.ts';
import type { QueuedMessage, TurnOutcome } from '../contracts/conversation.ts';
import { acceptMessage, callModel, destroySandbox, finishTurn as recordFinish } from './activities.ts';
import { approveCalls } from './approve-calls.ts';
import { exhaustedBudget, pauseForBudget, storageLimit } from './state/budget-state.ts';
import type { Turn } from './state/conversation-data.ts';
import { countStep, finishTurn, mustEnd, takeSteers } from './state/conversation-state.ts';
import { restWhilePaused } from './pause.ts';
import { changeTier } from './rest.ts';
import { runCalls } from './run-calls.ts';
import { newId, type RunningConversation } from './running.ts';

/** Patch id. Conversations that started before the patch call the model again even after code that called only behaviors. */
const NOTED_BY_CODE = 'noted-by-code';

interface TurnEnd {
  outcome: TurnOutcome;
  /** The reason, when the turn did not finish normally. */
  message?: string;
}

/** Answers one message: step after step, until the model requests no more calls, or the turn is ended or fails. */
export async function runTurn(running: RunningConversation, turn: Turn): Promise<void> {
  const { data } = running;
  const end = await answer(running, turn);
  finishTurn(data, Date.now(), () => newId('turn'));
  await running.saveWith((status) => recordFinish({ conversationId: data.conversationId, turnId: turn.turnId, ...end, status }));
  if (data.limits.persist !== false) return;
  await changeTier(running, () => destroySandbox('turn ended', data.conversationId));
  await running.save();
}

async function answer(running: RunningConversation, turn: Turn): Promise<TurnEnd> {
  try {
    if (turn.message) await accept(running, turn, turn.message, false);
    else await begin(running, turn);
    for (;;) {
      await restBeforeStep(running);
      if (turn.ending !== undefined) return { outcome: turn.ending };
      if (mustEnd(running.data)) return { outcome: 'interrupted' };
      for (const message of takeSteers(running.data)) await accept(running, turn, message, true);
      const end = await runStep(running, turn);
      if (end !== undefined) return end;
    }
  } catch (error) {
    // An error that is not retryable (a message without a text, a broken agent) fails the turn; the conversation continues.
    if (!(error instanceof ActivityFailure)) throw error;
    return { outcome: 'failed', message: error.cause?.message ?? error.message };
  }
}

/** Begins a turn without a message: the notes that started it are in the transcript. */
function begin(running: RunningConversation, { turnId, wokenBy }: Turn): Promise<void> {
  running.data.outbox.push({ type: 'turn.started', turnId, data: { ...(wokenBy !== undefined && { wokenBy }) } });
  return running.save();
}

async function accept(running: RunningConversation, { turnId }: Turn, message: QueuedMessage, steers: boolean): Promise<void> {
  const { messageId, text } = message;
  const { conversationId } = running.data;
  await running.saveWith((status) => acceptMessage({ conversationId, turnId, messageId, ...(text !== undefined && { text }), steers, status }));
}

/** The boundary between two steps: pauses take effect here, and the budget is checked again whenever an operator resumes without granting enough. */
async function restBeforeStep(running: RunningConversation): Promise<void> {
  const { data } = running;
  for (;;) {
    await restWhilePaused(running, 'step');
    if (mustEnd(data) || data.turn?.ending !== undefined) return;
    const spent = exhaustedBudget(data, Date.now());
    if (spent === undefined) return;
    pauseForBudget(data, spent);
  }
}

/** One model call and the tool calls that it requests. Returns how the turn ended, or undefined when another step follows. */
async function runStep(running: RunningConversation, turn: Turn): Promise<TurnEnd | undefined> {
  const { data } = running;
  const stepId = newId('step');
  const step = turn.steps++;
  running.show();
  const answered = await callModelUnlessEnded(running, turn, stepId, step);
  if (answered === 'ended') return { outcome: endingOf(turn) };
  if (answered.outcome === 'failed') return { outcome: 'failed', message: answered.message };
  if (answered.outcome === 'exhausted') {
    // The model was not called: this is not a step, and the budget is checked before the next one.
    turn.steps -= 1;
    data.storedBytes = answered.storedBytes;
    return undefined;
  }
  countStep(data, answered.usage);
  const place = { turnId: turn.turnId, stepId };
  const approved = await approveCalls(running, place, answered.calls);
  const succeeded = await runCalls(running, place, approved);
  if (mustEnd(data)) return { outcome: endingOf(turn) };
  const onlyNoted = answered.calls.every(
    (call) => succeeded.has(call) && (call.kind === 'behavior' || (succeeded.get(call) === true && patched(NOTED_BY_CODE))),
  );
  if (onlyNoted && turn.steers.length === 0) return { outcome: 'finished' };
  return undefined;
}

function endingOf(turn: Turn): TurnOutcome {
  return turn.ending ?? 'interrupted';
}

async function callModelUnlessEnded(running: RunningConversation, turn: Turn, stepId: string, step: number): Promise<CallModelResult | 'ended'> {
  const { data } = running;
  const scope = new CancellationScope();
  const { conversationId, agentId, userId, tenantId, limits, allowedTools } = data;
  const mostBytes = storageLimit(data);
  const args = {
    conversationId,
    agentId,
    userId,
    tenantId,
    turnId: turn.turnId,
    stepId,
    step,
    ...(limits.unattended && { unattended: true }),
    ...(allowedTools.length > 0 && { allowedTools }),
    ...(mostBytes !== undefined && { storageLimit: mostBytes }),
    ...(limits.budget.costUsd !== undefined && { priceRequired: true as const }),
  };
  const answer = scope.run(() => callModel(args));
  const unwatch = running.watch(() => {
    if (mustEnd(data)) scope.cancel();
  });
  try {
    return await answer;
  } catch (error) {
    if (isCancellation(error)) return 'ended';
    throw error;
  } finally {
    unwatch();
  }
}
