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
import type { ConversationInput } from '../contracts/conversation-run.ts';
import { reportEnd } from './activities.ts';
import { serveContextWish } from './compact.ts';
import { closeSubAgents, passOnPauses } from './sub-agents.ts';
import { closeSandbox, getFiles } from './own-sandbox.ts';
import { isSettled } from './move-on.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { exhaustedBudget, pauseForBudget, spentBy, stopWork } from './state/budget-state.ts';
import { carryConversation, closeConversation, hasWork, isDone, mustEnd, openConversation, startTurn } from './state/conversation-state.ts';
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
/** Patch id. Before it, no run began within a turn. */
const TURN_GOES_ON = 'turn-goes-on';

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
  passOnPauses(running, input.carried);
  try {
    if (!hasWork(data) || data.turn) running.show();
    await getFiles(running);
    // A turn that was left for a new run, and is to end now, ends in this one.
    for (let works = true; works; works = goesOn(data) && mustEnd(data)) await answerMessages(running);
  } catch (error) {
    // A bug in this code must not end a conversation: Temporal retries the workflow task until the bug is fixed.
    if (!(error instanceof TemporalFailure)) throw error;
    closeConversation(data);
    await endConversation(running);
    throw error;
  }
  if (data.closing) return endConversation(running);
  if (!data.turn) await settleDown(running);
  if (data.closing) return endConversation(running);
  const { firstMessage: _, ...same } = input;
  const upgrades = isToMove() && !data.turn;
  const newRun = makeContinueAsNewFunc<(input: ConversationInput) => Promise<void>>(upgrades ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {});
  stopWork(data, Date.now());
  await newRun({ ...same, carried: carryConversation(data) });
}

const isDueForNewRun = () => workflowInfo().continueAsNewSuggested || isToMove();

/** Whether this run is pinned to a version of the workers that is not the current one any more: a new run begins with the current one. */
const isToMove = () => workflowInfo().targetWorkerDeploymentVersionChanged;

/** Answers messages until the conversation is closed, or a new run should go on; with the running turn, if there is one. */
async function answerMessages(running: RunningConversation): Promise<void> {
  const { data } = running;
  while (goesOn(data) || (!data.closing && !isDueForNewRun())) {
    if (!data.turn) await beginTurn(running);
    if (!data.turn) continue;
    await runTurn(running, data.turn);
    if (data.turn) return;
  }
}

/** Whether an earlier run has left a turn. A worker of an earlier version may have begun this run, and have left it where it was. */
function goesOn({ turn }: ConversationData): boolean {
  return turn !== undefined && patched(TURN_GOES_ON);
}

/** Does what is to be done between two turns, or waits for it, and begins the next turn if one may start. */
async function beginTurn(running: RunningConversation): Promise<void> {
  const { data } = running;
  await restWhilePaused(running, 'step', isDueForNewRun);
  if (data.paused || data.closing) return;
  if (isDone(data)) return closeConversation(data);
  if (mayServe(data)) {
    await serveContextWish(running);
    return running.save();
  }
  if (!mayStart(data)) {
    delete data.rewound;
    await rest(running, () => mayStart(data) || hasOther(data));
    return;
  }
  const spent = exhaustedBudget(data, Date.now());
  if (spent && data.parent) closeConversation(data);
  else if (spent) pauseForBudget(data, spent);
  else startTurn(data, Date.now());
}

function mayStart(data: ConversationData): boolean {
  return hasWork(data) && !data.rewinding;
}

function mayServe({ contextWish, rewinding }: ConversationData): boolean {
  return contextWish !== undefined && !(rewinding && patched(CONTEXT_AFTER_REWIND));
}

/** Whether there is something else to do for a conversation that rests, than to start a turn. */
function hasOther(data: ConversationData): boolean {
  const { closing, pauseWish } = data;
  if (data.rewound === true || mayServe(data) || closing || pauseWish !== undefined) return true;
  return isDueForNewRun() || goesOn(data) || (isDone(data) && patched(DONE_AT_REST));
}

/** Waits until no work is under way that the next run would not know of. */
async function settleDown(running: RunningConversation): Promise<void> {
  const { data } = running;
  do {
    if (data.pauseWish?.mode === 'now' && patched(FREEZES_BEFORE_RUN)) await beginPause(running);
    else enterPause(data, Date.now());
    await running.save();
    await condition(() => isSettled(running));
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
