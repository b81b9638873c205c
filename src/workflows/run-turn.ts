import { ActivityFailure, log, patched } from '@temporalio/workflow';
import { withoutUndefined } from '../common/without-undefined.ts';
import type { AcceptedMessage, AnswerCheck, CallModelResult } from '../contracts/activities.ts';
import type { QueuedMessage, TurnOutcome } from '../contracts/conversation.ts';
import { acceptMessage, callModel, destroySandbox, finishTurn as recordFinish, makeCheckpoint } from './activities.ts';
import { approveCalls } from './approve-calls.ts';
import { compactForStep, serveContextWish } from './compact.ts';
import { countAsked, countTasks, modelLeft, tasksMayUse } from './state/asked-state.ts';
import { exhaustedBudget, pauseForBudget, sharedParts, startWork, storageLimit } from './state/budget-state.ts';
import type { OpenStep, Turn } from '../contracts/conversation-run.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { isOfUser } from './state/judge-state.ts';
import { offerLimits } from './state/sub-agents.ts';
import { countStep, finishTurn, mustEnd, takeSteers } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { beginAsking, placeOf, takePlaceOf } from './state/place-state.ts';
import { isLong, movesOn, mustStop } from './move-on.ts';
import { restWhilePaused } from './pause.ts';
import { changeTier } from './rest.ts';
import { runCalls } from './run-calls.ts';
import { newId, unlessEnded, type RunningConversation } from './running.ts';
import { regainPlace } from './turn-place.ts';

/** Patch id. Conversations that started before the patch call the model again even after code that called only behaviors. */
const NOTED_BY_CODE = 'noted-by-code';
/** Patch id. Turns that started before the patch accept each message with an activity of its own. */
const ACCEPT_WITH_MODEL = 'accept-with-model';

/** The steps of a command, from 0: its call, and what it said. */
const LAST_OF_COMMAND = 1;

interface TurnEnd {
  outcome: TurnOutcome;
  /** The reason, when the turn did not finish normally. */
  message?: string;
  /** The step whose answer fits the schema that it has to. */
  answeredIn?: string;
}

/**
 * Answers one message: step after step, until the model requests no more calls, or the turn is ended or fails. A turn that makes a long history is left as the running
 * turn, for a new run to go on with.
 */
export async function runTurn(running: RunningConversation, turn: Turn): Promise<void> {
  const { data } = running;
  const end = await answer(running, turn);
  if (end === 'moves') {
    turn.moved = true;
    return;
  }
  if (turn.called && data.limits.checkpoints === 'turn') await keepCheckpoint(running, { turnId: turn.turnId });
  finishTurn(data, Date.now(), () => newId('turn'));
  const endedIn = end.outcome === 'finished' ? undefined : turn.stepId;
  const more = {
    ...(endedIn !== undefined && { endedIn }),
    ...(turn.counted && { counted: true as const }),
    ...(turn.called && data.limits.backup && { backup: true as const }),
  };
  await running.saveWith((status) => recordFinish({ conversationId: data.conversationId, turnId: turn.turnId, ...end, ...more, status }));
  if (data.limits.persist !== false) return;
  await changeTier(running, () => destroySandbox('turn ended', data));
  await running.save();
}

/** Makes a checkpoint at the end of a turn or a step that has called tools. Without one, the conversation goes on all the same. */
async function keepCheckpoint({ data }: RunningConversation, place: { turnId: string; stepId?: string }): Promise<void> {
  // A conversation that closes has no use for it.
  if (data.closing) return;
  const { conversationId, agentId, tenantId } = data;
  try {
    await makeCheckpoint(data, { conversationId, agentId, tenantId, ...place });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('No checkpoint could be made', { error: String(error.cause ?? error) });
  }
}

async function answer(running: RunningConversation, turn: Turn): Promise<TurnEnd | 'moves'> {
  const end = await runSteps(running, turn).catch(failedBy);
  if (end === 'moves') return end;
  // A model call that was cancelled or has failed may have accepted its messages or not: they come before the end of the turn in any case.
  const refused = await acceptRest(running, turn).catch(failedBy);
  turn.unaccepted = [];
  return end.outcome === 'failed' ? end : (refused ?? end);
}

/** An error that is not retryable (a message without a text, a broken agent) fails the turn; the conversation continues. */
function failedBy(error: unknown): TurnEnd {
  if (!(error instanceof ActivityFailure)) throw error;
  return { outcome: 'failed', message: error.cause?.message ?? error.message };
}

async function runSteps(running: RunningConversation, turn: Turn): Promise<TurnEnd | 'moves'> {
  let end = await beginSteps(running, turn);
  while (end === undefined) end = await nextStep(running, turn);
  return end;
}

/** Tells that the turn begins, or goes on with what an earlier run has left. */
async function beginSteps(running: RunningConversation, turn: Turn): Promise<TurnEnd | 'moves' | undefined> {
  if (turn.moved) startWork(running.data, Date.now());
  else if (turn.message) await receive(running, turn, [turn.message], false);
  else await begin(running, turn);
  return turn.openStep && stepEnd(running, turn, finishStep(running, turn, turn.openStep));
}

/** One step, or what has to come before it. Returns how the turn ended, or undefined when it goes on. */
async function nextStep(running: RunningConversation, turn: Turn): Promise<TurnEnd | 'moves' | undefined> {
  // A sub-agent gets no more than its parent has put aside for it.
  const spent = running.data.parent && exhaustedBudget(running.data, Date.now());
  if (spent) return { outcome: 'failed', message: usedUp(spent.exhausted, spent.limit) };
  await restBeforeStep(running);
  if (turn.ending !== undefined) return { outcome: turn.ending };
  if (mustEnd(running.data)) return { outcome: 'interrupted' };
  if (isLong()) {
    if (await movesOn(running, 'step')) return 'moves';
    if (mustStop(running, 'step')) return undefined;
  }
  if (running.data.contextWish) {
    await acceptRest(running, turn);
    await serveContextWish(running);
    return undefined;
  }
  // Messages that join the turn stay with it while its own message is not accepted.
  if (turn.steers.length > 0) await acceptRest(running, turn);
  await receive(running, turn, takeSteers(running.data), true);
  return stepEnd(running, turn, runStep(running, turn));
}

async function stepEnd(running: RunningConversation, turn: Turn, step: ReturnType<typeof runStep>): ReturnType<typeof runStep> {
  const end = await step;
  return end ?? acceptRest(running, turn);
}

/** Begins a turn without a message: the notes that started it are in the transcript. */
function begin(running: RunningConversation, { turnId, wokenBy }: Turn): Promise<void> {
  running.data.outbox.push({ type: 'turn.started', turnId, data: { ...(wokenBy !== undefined && { wokenBy }) } });
  return running.save();
}

/** Accepts messages. When the model is called next, this is left to that call; nothing may come between that the message has to come before. */
async function receive(running: RunningConversation, turn: Turn, queued: QueuedMessage[], steers: boolean): Promise<void> {
  if (queued.length === 0) return;
  const messages = queued.map(({ messageId, text }): AcceptedMessage => ({ messageId, ...(text !== undefined && { text }), steers }));
  if (asksModelNext(running, turn) && patched(ACCEPT_WITH_MODEL)) turn.unaccepted.push(...messages);
  else for (const message of messages) await accept(running, turn, message);
}

function asksModelNext(running: RunningConversation, turn: Turn): boolean {
  const { data } = running;
  const goesOn = !pauseIsDue(data, 'step') && !mustEnd(data) && turn.ending === undefined && exhaustedBudget(data, Date.now()) === undefined;
  return goesOn && running.isSaved();
}

function accept(running: RunningConversation, { turnId }: Turn, message: AcceptedMessage): Promise<void> {
  const { conversationId } = running.data;
  return running.saveWith((status) => acceptMessage({ conversationId, turnId, ...message, status, eventsOf: 'message' }));
}

/** Accepts what a model call was to accept, unless it is known that it has. */
async function acceptRest(running: RunningConversation, turn: Turn): Promise<undefined> {
  if (turn.unaccepted.length > 0) await running.save();
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
async function runStep(running: RunningConversation, turn: Turn): Promise<TurnEnd | 'moves' | undefined> {
  const { data } = running;
  const stepId = newId('step');
  const step = turn.steps++;
  turn.stepId = stepId;
  running.show();
  const wasCounted = beginAsking(turn);
  const answered = await callModelUnlessEnded(running, turn, stepId, step);
  if (answered === 'ended') return { outcome: endingOf(turn) };
  takePlaceOf(turn, answered, wasCounted);
  if (answered.accepted) turn.unaccepted = [];
  countAsked(data, stepId, answered.asked);
  countTasks(data, answered.askedByTasks);
  if (answered.outcome === 'failed' && !lackedMessages(turn, answered)) return { outcome: 'failed', message: answered.message };
  if (answered.outcome === 'unaffordable') return { outcome: 'failed', message: usedUp('tokens', data.limits.budget.tokens, answered.needs) };
  if (answered.outcome !== 'answered') return withoutAnswer(running, turn, answered);
  delete turn.compactions;
  countStep(data, answered.usage);
  const { calls, answer } = answered;
  const left = await approveCalls(running, { turnId: turn.turnId, stepId }, calls);
  return finishStep(running, turn, { stepId, calls, left, begun: [], succeeded: {}, ...(answer && { answer }) });
}

/** Runs what is left of a step's calls. */
async function finishStep(running: RunningConversation, turn: Turn, step: OpenStep): Promise<TurnEnd | 'moves' | undefined> {
  const { data } = running;
  const { stepId, calls, answer } = step;
  delete turn.openStep;
  const place = { turnId: turn.turnId, stepId };
  if ((await runCalls(running, place, step)) === 'moves') {
    turn.openStep = step;
    return 'moves';
  }
  if (calls.length > 0) {
    turn.called = true;
    if (data.limits.checkpoints === 'step') await keepCheckpoint(running, place);
  }
  if (mustEnd(data)) return { outcome: endingOf(turn) };
  if (turn.fails !== undefined) return { outcome: 'failed', message: turn.fails };
  return answer ? endWith(turn, stepId, answer) : endUnlessMore(turn, step);
}

/** Without a schema for the answer, the turn ends when nothing that was called has a result for the model. */
function endUnlessMore(turn: Turn, { calls, succeeded }: OpenStep): TurnEnd | undefined {
  const onlyNoted = calls.every(({ callId, kind }) => callId in succeeded && (kind === 'behavior' || (succeeded[callId] === true && patched(NOTED_BY_CODE))));
  return onlyNoted && hasReadAll(turn) ? { outcome: 'finished' } : undefined;
}

/** The model has not read what is still to join the turn, or is not accepted. */
function hasReadAll({ steers, unaccepted }: Turn): boolean {
  return steers.length === 0 && unaccepted.length === 0;
}

/** With a schema for the answer, the turn ends with an answer that fits it, and calls nothing. One that does not is repaired once. */
function endWith(turn: Turn, stepId: string, answer: AnswerCheck): TurnEnd | undefined {
  if (answer.outcome === 'pending' || !hasReadAll(turn)) return undefined;
  if (answer.outcome === 'fits') return { outcome: 'finished', answeredIn: stepId };
  if (turn.repairs) return { outcome: 'failed', message: answer.message };
  turn.repairs = true;
  return undefined;
}

/** The model was not called, or not with what it was to answer: this is not a step, and the budget is checked before the next one. */
async function withoutAnswer(running: RunningConversation, turn: Turn, answered: CallModelResult): Promise<undefined> {
  turn.steps -= 1;
  if (answered.outcome === 'exhausted') running.data.storedBytes = answered.storedBytes;
  if (answered.outcome === 'waits') await regainPlace(running, 'step', () => turn.ending !== undefined, answered.waits);
  if (answered.outcome === 'compact') await compactForStep(running, turn, answered.reason);
}

/** Why a sub-agent ends before it has done its task. */
function usedUp(kind: string, limit = 0, needs?: number): string {
  return `The budget of this task is used up (${kind}: ${limit}${needs === undefined ? '' : `; the next step needs about ${needs}`}).`;
}

/** A worker of an earlier version called the model without the messages that it was to accept. */
function lackedMessages(turn: Turn, { accepted }: CallModelResult): boolean {
  return accepted === undefined && turn.unaccepted.length > 0;
}

function endingOf(turn: Turn): TurnOutcome {
  return turn.ending ?? 'interrupted';
}

function callModelUnlessEnded(running: RunningConversation, turn: Turn, stepId: string, step: number): Promise<CallModelResult | 'ended'> {
  const { data } = running;
  const { conversationId, agentId, userId, tenantId, limits, allowedTools } = data;
  const mostBytes = storageLimit(data);
  const accepts = running.takeUnaccepted();
  const args = {
    conversationId,
    agentId,
    userId,
    tenantId,
    turnId: turn.turnId,
    stepId,
    step,
    compactions: turn.compactions ?? 0,
    ...offerLimits(data),
    ...(allowedTools.length > 0 && { allowedTools }),
    ...(mostBytes !== undefined && { storageLimit: mostBytes }),
    modelLeft: modelLeft(data, stepId, Date.now()),
    ...tasksMayUse(data, Date.now()),
    ...(limits.budget.costUsd !== undefined && { priceRequired: true as const }),
    ...(data.parent && withoutUndefined({ tokensLeft: sharedParts(data, Date.now()).tokens?.left })),
    ...(turn.outputOf !== undefined && { outputOf: turn.outputOf }),
    ...(turn.repairs && { repairs: turn.repairs }),
    ...(accepts && { accepts }),
    place: placeOf(data),
    ...(step <= LAST_OF_COMMAND && isByUser(data, turn) && { mayBeCommand: true as const }),
  };
  return unlessEnded(running, () => callModel(data, args));
}

/** Whether a user has written the message that began the turn: not a model to its sub-agent, and not a sub-agent at its end. */
function isByUser({ parent }: ConversationData, { message }: Turn): boolean {
  return !parent && message !== undefined && isOfUser(message);
}
