import { ActivityFailure, CancellationScope, isCancellation, patched } from '@temporalio/workflow';
import type { CallModelResult } from '../contracts/activities.ts';
import type { QueuedMessage, TurnOutcome } from '../contracts/conversation.ts';
import { acceptMessage, callModel, destroySandbox, finishTurn as recordFinish } from './activities.ts';
import { approveCalls } from './approve-calls.ts';
import { exhaustedBudget, pauseForBudget, storageLimit } from './budget-state.ts';
import { countStep, finishTurn, mustEnd, takeSteers, type Turn } from './conversation-state.ts';
import { restWhilePaused } from './pause.ts';
import { changeTier } from './rest.ts';
import { runCalls } from './run-calls.ts';
import { newId, type RunningConversation } from './running.ts';

/** Conversations that began before ask the model again also after code that only had things noted. */
const NOTED_BY_CODE = 'noted-by-code';

interface TurnEnd {
  outcome: TurnOutcome;
  /** Why, when the turn did not end by itself. */
  message?: string;
}

/** Answers one message: step after step, until the model asks for nothing more, or the turn is ended, or fails. */
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
    // What a worker refuses for good (a message without a text, a broken agent) is the turn's failure; the conversation goes on.
    if (!(error instanceof ActivityFailure)) throw error;
    return { outcome: 'failed', message: error.cause?.message ?? error.message };
  }
}

/** A turn without a message: the notes that set it off are in the transcript. */
function begin(running: RunningConversation, { turnId, wokenBy }: Turn): Promise<void> {
  running.data.outbox.push({ type: 'turn.started', turnId, data: { ...(wokenBy !== undefined && { wokenBy }) } });
  return running.save();
}

async function accept(running: RunningConversation, { turnId }: Turn, message: QueuedMessage, steers: boolean): Promise<void> {
  const { messageId, text } = message;
  const { conversationId } = running.data;
  await running.saveWith((status) => acceptMessage({ conversationId, turnId, messageId, ...(text !== undefined && { text }), steers, status }));
}

/** The boundary between two steps: pauses take effect here, and the budget is checked as often as somebody resumes without granting enough. */
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

/** One model call and the tool calls it asks for. Returns how the turn ended, or undefined when another step follows. */
async function runStep(running: RunningConversation, turn: Turn): Promise<TurnEnd | undefined> {
  const { data } = running;
  const stepId = newId('step');
  const step = turn.steps++;
  running.show();
  const answered = await callModelUnlessEnded(running, turn, stepId, step);
  if (answered === 'ended') return { outcome: endingOf(turn) };
  if (answered.outcome === 'failed') return { outcome: 'failed', message: answered.message };
  if (answered.outcome === 'exhausted') {
    // The model was not asked: it is no step, and the budget is looked at before the next.
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
