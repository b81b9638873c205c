import {
  allHandlersFinished,
  CancelledFailure,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  patched,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ConversationInput } from '../contracts/conversation.ts';
import { reportEnd } from './activities.ts';
import { serveContextWish } from './compact.ts';
import { closeSubAgents, passOnPauses } from './sub-agents.ts';
import { closeSandbox, getFiles } from './own-sandbox.ts';
import { exhaustedBudget, pauseForBudget, spentBy } from './state/budget-state.ts';
import { carryConversation, closeConversation, hasWork, isDone, openConversation, startTurn } from './state/conversation-state.ts';
import { enterPause } from './state/pause-state.ts';
import { registerHandlers } from './register-handlers.ts';
import { beginPause, restWhilePaused } from './pause.ts';
import { rest } from './rest.ts';
import { runConversation, type RunningConversation } from './running.ts';
import { runTurn } from './run-turn.ts';

/** Patch id. Before it, the context could be changed while a rewind was under way. */
const CONTEXT_AFTER_REWIND = 'context-after-rewind';
/** Patch id. Before it, a conversation that was closed during a rewind did not wait for its end. */
const CLOSES_AFTER_REWIND = 'closes-after-rewind';
/** Patch id. Before it, a pause `now` that came as a new run began froze nothing. */
const FREEZES_BEFORE_RUN = 'freezes-before-run';
/** Patch id. Before it, a conversation did not close by itself when the last of its sub-agents ended while it rested. */
const DONE_AT_REST = 'done-at-rest';

/**
 * One conversation of one user with one agent: accepts messages, answers each with a turn, rests between turns, and ends when it is closed.
 * Cancelling the workflow closes it too. The workflow never has a retry policy: that would run finished work again.
 */
export async function conversation(input: ConversationInput): Promise<void> {
  const running = runConversation(openConversation(input));
  registerHandlers(running);
  const scope = CancellationScope.current();
  // Nothing below is cancelled from outside: a cancellation requests an orderly end.
  scope.cancelRequested.catch(() => running.change(() => closeConversation(running.data)));
  await CancellationScope.nonCancellable(() => converse(running, input));
  if (scope.consideredCancelled) throw new CancelledFailure('The conversation was closed by cancelling its workflow');
}

async function converse(running: RunningConversation, input: ConversationInput): Promise<void> {
  const { data } = running;
  const pauses = passOnPauses(running);
  try {
    if (!hasWork(data)) running.show();
    await getFiles(running);
    await answerMessages(running);
  } catch (error) {
    // A bug in this code must not end a conversation: Temporal retries the workflow task until the bug is fixed.
    if (!(error instanceof TemporalFailure)) throw error;
    closeConversation(data);
    await endConversation(running);
    throw error;
  }
  if (data.closing) return endConversation(running);
  await settleDown(running, pauses);
  if (data.closing) return endConversation(running);
  const { firstMessage: _, ...same } = input;
  const newRun = makeContinueAsNewFunc<(input: ConversationInput) => Promise<void>>(isToMove() ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {});
  await newRun({ ...same, carried: carryConversation(data) });
}

const isDueForNewRun = () => workflowInfo().continueAsNewSuggested || isToMove();

/** Whether this run is pinned to a version of the workers that is not the current one any more: a new run begins with the current one. */
const isToMove = () => workflowInfo().targetWorkerDeploymentVersionChanged;

/** Answers messages until the conversation is closed, or a new run should go on. */
async function answerMessages(running: RunningConversation): Promise<void> {
  const { data } = running;
  const mayStart = () => hasWork(data) && !data.rewinding;
  const mayServe = () => data.contextWish !== undefined && !(data.rewinding && patched(CONTEXT_AFTER_REWIND));
  while (!data.closing && !isDueForNewRun()) {
    await restWhilePaused(running, 'step', isDueForNewRun);
    if (data.paused || data.closing) continue;
    if (isDone(data)) {
      closeConversation(data);
      continue;
    }
    if (mayServe()) {
      await serveContextWish(running);
      await running.save();
      continue;
    }
    if (!mayStart()) {
      delete data.rewound;
      await rest(
        running,
        () =>
          mayStart() ||
          data.rewound === true ||
          mayServe() ||
          data.closing ||
          data.pauseWish !== undefined ||
          isDueForNewRun() ||
          (isDone(data) && patched(DONE_AT_REST)),
      );
      continue;
    }
    const spent = exhaustedBudget(data, Date.now());
    if (spent && data.parent) {
      closeConversation(data);
      continue;
    }
    const turn = spent ? pauseForBudget(data, spent) : startTurn(data, Date.now());
    if (turn) await runTurn(running, turn);
  }
}

/** Waits until no work is under way that the next run would not know of. */
async function settleDown(running: RunningConversation, pauses: { isDone(): boolean }): Promise<void> {
  const { data } = running;
  do {
    if (data.pauseWish?.mode === 'now' && patched(FREEZES_BEFORE_RUN)) await beginPause(running);
    else enterPause(data, Date.now());
    await running.save();
    await condition(() => allHandlersFinished() && running.isSaved() && pauses.isDone());
  } while (data.pauseWish !== undefined && !data.closing);
}

/** Always runs at the end: no sandbox stays behind, and clients can see that the conversation is closed. */
async function endConversation(running: RunningConversation): Promise<void> {
  const { data } = running;
  await running.save();
  // A rewind wakes the sandbox.
  if (data.rewinding && patched(CLOSES_AFTER_REWIND)) await condition(() => !data.rewinding);
  await closeSubAgents(running);
  await closeSandbox(running);
  data.closed = true;
  data.outbox.push({ type: 'conversation.closed', data: {} });
  await running.save();
  if (data.parent) await reportEnd({ conversationId: data.conversationId, parent: data.parent, spent: spentBy(data, Date.now()) });
  await condition(allHandlersFinished);
}
