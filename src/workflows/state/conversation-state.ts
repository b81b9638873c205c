import type { QueuedMessage, SendMessageArgs, Wake } from '../../contracts/conversation.ts';
import type { Usage } from '../../contracts/usage.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { waitsForOthers } from './client-calls.ts';
import { countCost, startWork, stopWork } from './budget-state.ts';
import { isOfUser } from './judge-state.ts';
import type { ConversationInput, CarriedConversation, Turn, TurnEnding } from '../../contracts/conversation-run.ts';
import type { ConversationData } from './conversation-data.ts';

/** Number of message ids that are kept for deduplication. */
export const RECENT_MESSAGES = 200;
/** Messages that may wait; with the longest texts that an operator can type, they still fit into one continue-as-new. */
export const MAX_QUEUED = 100;

export type MessageVerdict =
  { outcome: 'accept' } | { outcome: 'duplicate'; turnId: string } | { outcome: 'busy'; turnId: string } | { outcome: 'full' } | { outcome: 'closed' };

/** The state at the start of a run, the first one or one that continues another. */
export function openConversation(input: ConversationInput): ConversationData {
  const { conversationId, agentId, userId, tenantId, limits, scheduledBy, closeWhenDone = false, parent, fork, importedFrom, carried, firstMessage } = input;
  const data: ConversationData = {
    conversationId,
    agentId,
    userId,
    tenantId,
    limits,
    ...(scheduledBy && { scheduledBy }),
    closeWhenDone,
    ...(parent && { parent }),
    ...(importedFrom && { importedFrom }),
    ...(fork && { fork, ...(!carried && { awaitsFiles: true }) }),
    queue: [],
    urgent: 0,
    recentMessages: [],
    closing: false,
    closed: false,
    turnsUsed: 0,
    tokensUsed: 0,
    stepsTaken: 0,
    workedMs: 0,
    sandboxTier: 'none',
    allowedTools: [],
    allowances: [],
    extraTurns: 0,
    extraTokens: 0,
    extraWallTimeMs: 0,
    approvals: [],
    handovers: 0,
    runningCalls: [],
    detachedCalls: carried ? callsInSandbox(carried) : 0,
    subAgents: [],
    awaitedAgents: [],
    placedAgents: [],
    clientCalls: [],
    outbox: [],
    ...(carried && copy(carried)),
  };
  if (carried === undefined && firstMessage !== undefined) enqueue(data, firstMessage, 'queue');
  return data;
}

/** Calls that the earlier run has begun, that have no result yet, and that may hold commands. */
function callsInSandbox({ turn }: CarriedConversation): number {
  const { left = [], begun = [] } = turn?.openStep ?? {};
  return left.filter((call) => begun.includes(call.callId) && !waitsForOthers(call)).length;
}

/** The state for the next run. Nothing may run for the turn, if there is one. */
export function carryConversation(data: ConversationData): CarriedConversation {
  const { queue, recentMessages, wake, paused, turnsUsed, tokensUsed, workedMs, sandboxTier, allowedTools, extraTurns, extraTokens, extraWallTimeMs } = data;
  const {
    extraStorageMb,
    costUsd,
    unknownCost,
    extraCostUsd,
    askedByTasks,
    pausedAtMs,
    serviceUrl,
    sandboxHost,
    subAgents,
    handovers,
    contextWish,
    plan,
    allowances,
    stepsTaken,
    forks,
    urgent,
    awaitedAgents,
    recentRequests,
  } = data;
  const known = withoutUndefined({
    contextWish,
    plan,
    extraStorageMb,
    costUsd,
    unknownCost,
    extraCostUsd,
    askedByTasks,
    pausedAtMs,
    serviceUrl,
    sandboxHost,
    forks,
    recentRequests,
  });
  const kept = { queue, recentMessages, turnsUsed, tokensUsed, workedMs, sandboxTier, allowedTools, extraTurns, extraTokens, extraWallTimeMs };
  return copy({
    ...kept,
    ...(urgent > 0 && { urgent }),
    ...(wake && { wake }),
    ...(paused && { paused }),
    ...(data.turn && { turn: carryTurn(data.turn), ...(data.pauseWish && { pauseWish: data.pauseWish }) }),
    ...(data.turn && awaitedAgents.length > 0 && { awaitedAgents }),
    ...known,
    ...(subAgents.length > 0 && { subAgents }),
    ...(handovers > 0 && { handovers }),
    ...(allowances.length > 0 && { allowances }),
    ...(stepsTaken > 0 && { stepsTaken }),
  });
}

/** What is needed of it: its message is accepted, and only calls that are attached to again say once more what they have asked. */
function carryTurn(turn: Turn): Turn {
  const left = new Set(turn.openStep?.left.map(({ callId }) => callId));
  const asked = Object.entries(turn.asked ?? {}).filter(([callId]) => left.has(callId));
  const message = turn.message && { ...turn.message };
  delete message?.text;
  return { ...turn, asked: Object.fromEntries(asked), ...(message && { message }) };
}

/** The SDK's isolate for workflows has no `structuredClone`; all of this is JSON. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Decides what would happen to a message, without accepting it. */
export function judgeMessage(data: ConversationData, message: SendMessageArgs): MessageVerdict {
  const known = knownMessage(data, message.messageId);
  if (known) return { outcome: 'duplicate', turnId: known.turnId };
  if (data.closing) return { outcome: 'closed' };
  const busyWith = turnAtWork(data);
  if (message.whenBusy === 'reject' && busyWith !== undefined) return { outcome: 'busy', turnId: busyWith };
  if (data.queue.length + (data.turn?.steers.length ?? 0) >= MAX_QUEUED) return { outcome: 'full' };
  return { outcome: 'accept' };
}

/** The turn that runs or would run next. */
function turnAtWork({ turn, queue, wake }: ConversationData): string | undefined {
  return (turn ?? queue[0] ?? wake)?.turnId;
}

function knownMessage(data: ConversationData, wanted: string): { turnId: string } | undefined {
  return [...data.recentMessages, ...data.queue].find(({ messageId }) => messageId === wanted);
}

/** Accepts a message that `judgeMessage` accepts, and returns the turn that will answer it: the running turn for a steering message. */
export function takeMessage(data: ConversationData, message: SendMessageArgs, newTurnId: string): string {
  const turn = data.turn;
  const joins = message.whenBusy === 'steer' && turn !== undefined && turn.ending === undefined;
  const turnId = joins ? turn.turnId : newTurnId;
  const { messageId, text, output } = message;
  const queued: QueuedMessage = { messageId, turnId, ...(text !== undefined && { text }), ...(output === true && { output }) };
  if (joins) {
    turn.steers.push(queued);
    remember(data, queued);
    return turnId;
  }
  const urgent = message.whenBusy === 'interrupt';
  if (urgent) endTurn(data, 'interrupted');
  enqueue(data, queued, urgent ? 'interrupt' : 'queue');
  return turnId;
}

/**
 * Accepts a note's request for a turn, once for each call; without a call, an operator requests it. While the running turn is asked to end, the request is
 * ignored.
 */
export function takeWake(data: ConversationData, callId: string | undefined, turnId: string): void {
  const messageId = `wake-${callId ?? turnId}`;
  if (data.closing || data.turn?.ending !== undefined || knownMessage(data, messageId)) return;
  remember(data, { messageId, turnId });
  data.wake ??= { turnId, ...(callId !== undefined && { callId }) };
}

/** An operator's request about the context, which replaces one that is not served yet. */
export function wishContext(data: ConversationData, requestId: string, undo: boolean): void {
  if (!data.closing) data.contextWish = { requestId, undo };
}

/** True when the conversation has answered all its messages, its sub-agents have ended, and it closes after that. */
export function isDone(data: ConversationData): boolean {
  return data.closeWhenDone && data.turnsUsed > 0 && !hasWork(data) && data.subAgents.length === 0;
}

/** True when a turn could start if the conversation were neither paused nor closing. */
export function hasWork(data: ConversationData): boolean {
  return data.queue.length > 0 || data.wake !== undefined;
}

function enqueue(data: ConversationData, message: QueuedMessage, whenBusy: 'queue' | 'interrupt'): void {
  if (whenBusy === 'interrupt') data.queue.splice(data.urgent++, 0, message);
  else data.queue.push(message);
  remember(data, message);
}

function remember(data: ConversationData, { messageId, turnId }: QueuedMessage): void {
  data.recentMessages = [...data.recentMessages.filter((known) => known.messageId !== messageId), { messageId, turnId }].slice(-RECENT_MESSAGES);
}

/**
 * Starts the turn of the message that has waited longest, or of a note when no message waits. Undefined while a turn runs, when nothing waits, and when no
 * turn may start.
 */
export function startTurn(data: ConversationData, nowMs: number): Turn | undefined {
  if (data.turn !== undefined || data.paused !== undefined || data.closing || data.rewinding) return undefined;
  const message = data.queue.shift();
  const { wake } = data;
  const turnId = message?.turnId ?? wake?.turnId;
  if (turnId === undefined) return undefined;
  data.urgent = Math.max(0, data.urgent - 1);
  data.turnsUsed += 1;
  if (message && isOfUser(message)) data.handovers = 0;
  data.turn = { turnId, ...originOf(message, wake), steps: 0, extraSteps: 0, steers: [], unaccepted: [] };
  startWork(data, nowMs);
  return data.turn;
}

function originOf(message: QueuedMessage | undefined, wake: Wake | undefined): Pick<Turn, 'message' | 'outputOf' | 'wokenBy'> {
  if (message) return { message, ...(message.output && { outputOf: message.messageId }) };
  return wake?.callId === undefined ? {} : { wokenBy: wake.callId };
}

/** Removes the running turn from the state. Steering messages that no step has read become turns of their own, at the head of the queue. */
export function finishTurn(data: ConversationData, nowMs: number, newTurnId: () => string): void {
  const left = data.turn?.steers ?? [];
  delete data.turn;
  stopWork(data, nowMs);
  data.approvals = [];
  data.runningCalls = [];
  data.awaitedAgents = [];
  data.detachedCalls = 0;
  const requeued = left.map((message) => ({ ...message, turnId: newTurnId() }));
  data.queue.unshift(...requeued);
  data.urgent += data.urgent > 0 ? requeued.length : 0;
  for (const message of requeued) remember(data, message);
}

/** Removes and returns the steering messages for the step that starts now. The step also reads all notes. */
export function takeSteers(data: ConversationData): QueuedMessage[] {
  delete data.wake;
  const { turn } = data;
  const steers = turn?.steers.splice(0) ?? [];
  const outputOf = steers.findLast(({ output }) => output)?.messageId;
  if (turn && outputOf !== undefined) turn.outputOf = outputOf;
  // The model answers something else now.
  if (turn && steers.length > 0) delete turn.repairs;
  return steers;
}

export function countStep(data: ConversationData, usage: Usage): void {
  data.stepsTaken += 1;
  countUsage(data, usage);
}

/** Adds what a model call has used that is no step of a turn. */
export function countUsage(data: ConversationData, usage: Usage): void {
  data.tokensUsed += usage.inputTokens + usage.outputTokens;
  countCost(data, usage);
}

/** Asks the running turn to end. A weaker request than an earlier one changes nothing. */
export function endTurn(data: ConversationData, ending: TurnEnding): void {
  const turn = data.turn;
  if (turn === undefined) return;
  delete data.wake;
  const order: TurnEnding[] = ['stopped', 'interrupted', 'cancelled'];
  if (turn.ending === undefined || order.indexOf(ending) > order.indexOf(turn.ending)) turn.ending = ending;
}

/** Drops all waiting messages; each of their turns is reported as cancelled, with the problem that is the reason, if there is one. */
export function dropQueue(data: ConversationData, message?: string): void {
  const end = { outcome: 'cancelled', ...(message !== undefined && { message }) };
  for (const { turnId } of data.queue.splice(0)) data.outbox.push({ type: 'turn.finished', turnId, data: end });
  if (data.turn) data.turn.steers = [];
  delete data.wake;
  data.urgent = 0;
}

/** Begins to close the conversation: it accepts nothing new, and the running turn is interrupted. */
export function closeConversation(data: ConversationData, problem?: string): void {
  if (data.closing) return;
  data.closing = true;
  endTurn(data, 'interrupted');
  dropQueue(data, problem);
}

/** True when running work has to end at once. */
export function mustEnd(data: ConversationData): boolean {
  return data.closing || data.turn?.ending === 'interrupted' || data.turn?.ending === 'cancelled';
}
