import { ApplicationFailure } from '@temporalio/workflow';
import type { RewindArgs } from '../../contracts/checkpoints/checkpoint.ts';
import { failure, type ErrorCode, type ErrorValues } from '../../contracts/errors.ts';
import {
  MAX_INLINE_ARGUMENTS,
  type ApprovalAnswer,
  type ResolveApprovalArgs,
  type RevokeAllowedToolArgs,
  type SendMessageArgs,
  type WhenBusy,
} from '../../contracts/conversation.ts';
import { operatorText, operatorValues } from '../../contracts/operator-text.ts';
import { excessOfValue } from '../../contracts/foreign-json.ts';
import { cutMiddle, unstorable, visibleJson } from '../../contracts/visible-text.ts';
import { obstacleToRewind } from '../state/rewind-state.ts';
import { judgeAnswer } from '../state/approval-state.ts';
import type { Approval, ConversationData } from '../state/conversation-data.ts';
import { judgeMessage, MAX_QUEUED } from '../state/conversation-state.ts';
import { isObject } from '../../contracts/json.ts';

export const MAX_ID_LENGTH = 200;
const LONGER = 'Send longer ones with the client or the command line';
/** Of a text in JSON. */
const QUOTES = 2;
const WHEN_BUSY: readonly WhenBusy[] = ['queue', 'steer', 'interrupt', 'reject'];
const ANSWERS: readonly ApprovalAnswer[] = ['allow', 'allow-once', 'deny'];

/** A refusal that reaches the caller with its code and values, and is not retried. */
export function refusedUpdate<C extends ErrorCode>(code: C, values: ErrorValues<C>): ApplicationFailure {
  const error = failure(code, values);
  return ApplicationFailure.nonRetryable(operatorText(error.message), error.code, operatorValues(error.values));
}

/** Checks the arguments of `sendMessage`, from any client, and whether the conversation accepts the message now. */
export function checkMessage(data: ConversationData, given: unknown): Partial<SendMessageArgs> {
  const args = flatObject(given, 'MESSAGE_INVALID');
  const { messageId, text, whenBusy } = args;
  if (messageId !== undefined && !isId(messageId)) {
    throw refusedUpdate('MESSAGE_INVALID', { problem: `messageId must be a text of 1 to ${MAX_ID_LENGTH} characters`, fix: 'Leave it out to have one made' });
  }
  if (text === undefined && messageId === undefined) {
    throw refusedUpdate('MESSAGE_INVALID', { problem: 'it has no text', fix: 'Send {"text": "…"}' });
  }
  if (text !== undefined) checkText(text);
  if (whenBusy !== undefined && !WHEN_BUSY.includes(whenBusy as WhenBusy)) {
    throw refusedUpdate('MESSAGE_INVALID', { problem: `whenBusy is ${short(whenBusy)}`, fix: `Use one of ${WHEN_BUSY.join(', ')}` });
  }
  const message = args as Partial<SendMessageArgs>;
  const verdict = judgeMessage(data, { ...message, messageId: message.messageId ?? '' });
  if (verdict.outcome === 'busy') throw refusedUpdate('CONVERSATION_BUSY', { conversationId: data.conversationId, turnId: verdict.turnId });
  if (verdict.outcome === 'closed') throw refusedUpdate('CONVERSATION_CLOSED', { conversationId: data.conversationId });
  if (verdict.outcome === 'full')
    throw refusedUpdate('MESSAGE_INVALID', { problem: `${MAX_QUEUED} messages wait already`, fix: 'Send it when some are answered' });
  return message;
}

function checkText(text: unknown): void {
  if (typeof text !== 'string' || text.trim() === '') {
    throw refusedUpdate('MESSAGE_INVALID', { problem: 'its text is empty or not a text', fix: 'Send {"text": "…"}' });
  }
  if (text.length > MAX_INLINE_ARGUMENTS) {
    throw refusedUpdate('MESSAGE_INVALID', {
      problem: `its text has ${text.length} characters, ${MAX_INLINE_ARGUMENTS} fit into a message typed here`,
      fix: LONGER,
    });
  }
}

/** Refuses characters that Postgres would change. Only validators call it: a replay must not check messages that were accepted before. */
export function checkCharacters(given: unknown): void {
  const { text, messageId } = flatObject(given, 'MESSAGE_INVALID');
  for (const [what, value] of Object.entries({ text, messageId })) {
    const problem = typeof value === 'string' ? unstorable(value) : undefined;
    if (problem !== undefined) throw refusedUpdate('MESSAGE_INVALID', { problem: `its ${what} has ${problem}`, fix: 'Leave it out' });
  }
}

/** Refuses what is too large for the input of the next run, where as many of them wait as may. Only validators call it, for the same reason. */
export function checkBytes(given: unknown): void {
  const { text } = flatObject(given, 'MESSAGE_INVALID');
  if (typeof text !== 'string' || text.length > MAX_INLINE_ARGUMENTS) return;
  const bytes = new TextEncoder().encode(JSON.stringify(text)).length - QUOTES;
  if (bytes <= MAX_INLINE_ARGUMENTS) return;
  const problem = `its text takes ${bytes} bytes as JSON, ${MAX_INLINE_ARGUMENTS} fit into a message typed here`;
  throw refusedUpdate('MESSAGE_INVALID', { problem, fix: LONGER });
}

/** Refuses a schema of the answer in the message itself. Only validators call it, for the same reason. */
export function checkOutput(given: unknown): void {
  const { output, messageId } = flatObject(given, 'MESSAGE_INVALID');
  if (output === undefined || (output === true && messageId !== undefined)) return;
  const fix = 'Send it with the client, over HTTP or with the command line';
  throw refusedUpdate('MESSAGE_INVALID', { problem: 'it has an output, which is no part of a message typed here', fix });
}

/** Checks the arguments of `resolveApproval` and finds the approval they answer. */
export function checkAnswer(data: ConversationData, given: unknown): { args: ResolveApprovalArgs; approval: Approval } {
  const args = flatObject(given, 'INVALID_ARGUMENT');
  const { callId, answer, hash, editedArguments } = args;
  if (!isId(callId)) throw badArgument('callId', callId, 'Copy it from the pending approval');
  if (typeof hash !== 'string') throw badArgument('hash', hash, 'Copy it from the pending approval');
  if (!ANSWERS.includes(answer as ApprovalAnswer)) throw badArgument('answer', answer, `Use one of ${ANSWERS.join(', ')}`);
  if (editedArguments !== undefined && !isObject(editedArguments)) throw badArgument('editedArguments', editedArguments, 'Give a JSON object, or leave it out');
  const excess = excessOfValue(editedArguments);
  if (excess !== undefined)
    throw refusedUpdate('INVALID_ARGUMENT', { what: 'editedArguments', problem: `it ${excess}`, fix: 'Give a smaller and flatter object' });
  for (const name of ['reason', 'by']) {
    if (args[name] !== undefined && typeof args[name] !== 'string') throw badArgument(name, args[name], 'Give a text, or leave it out');
  }
  const valid = args as unknown as ResolveApprovalArgs;
  const verdict = judgeAnswer(data, valid);
  if (verdict.outcome === 'missing') throw refusedUpdate('APPROVAL_NOT_FOUND', { callId, conversationId: data.conversationId });
  if (verdict.outcome === 'mismatch') throw refusedUpdate('APPROVAL_MISMATCH', { callId, expected: verdict.expected, given: hash });
  return { args: valid, approval: verdict.approval };
}

/** Checks the arguments of `revokeAllowedTool`. */
export function checkRevocation(given: unknown): RevokeAllowedToolArgs {
  const { tool, by } = flatObject(given, 'INVALID_ARGUMENT');
  if (!isId(tool)) throw badArgument('tool', tool, 'Give the id of a tool, such as shell:run');
  if (by !== undefined && !isId(by)) throw badArgument('by', by, `Give a text of 1 to ${MAX_ID_LENGTH} characters, or leave it out`);
  return { tool, ...(by !== undefined && { by }) };
}

/** Refuses what a conversation that ends cannot do any more. A handler calls it only if it always has: a replay must not refuse what was accepted before. */
export function checkOpen({ closing, conversationId }: Pick<ConversationData, 'closing' | 'conversationId'>): void {
  if (closing) throw refusedUpdate('CONVERSATION_CLOSED', { conversationId });
}

/** Checks the arguments of `rewind`. */
export function checkRewind(given: unknown): RewindArgs {
  const { checkpointId, confirm } = isObject(given) ? given : {};
  if (!isId(checkpointId)) throw badArgument('checkpointId', checkpointId, 'Copy it from the list of checkpoints');
  if (confirm !== undefined && !isId(confirm)) throw badArgument('confirm', confirm, 'Copy it from the refusal, or leave it out');
  return { checkpointId, ...(confirm !== undefined && { confirm }) };
}

/** Checks that nothing is under way which a rewind would pull the files away from. */
export function checkMayRewind(data: ConversationData): void {
  checkOpen(data);
  const problem = obstacleToRewind(data);
  if (problem !== undefined) throw refusedUpdate('REWIND_REFUSED', { conversationId: data.conversationId, problem });
}

function badArgument(name: string, value: unknown, fix: string): ApplicationFailure {
  return refusedUpdate('INVALID_ARGUMENT', { what: name, problem: value === undefined ? 'is missing' : `${short(value)} cannot be used`, fix });
}

function flatObject(given: unknown, code: 'MESSAGE_INVALID' | 'INVALID_ARGUMENT'): Record<string, unknown> {
  if (given === undefined || given === null) return {};
  if (isObject(given)) return given;
  const problem = `the arguments are ${short(given)}`;
  const fix = 'Give one JSON object';
  throw code === 'MESSAGE_INVALID' ? refusedUpdate(code, { problem, fix }) : refusedUpdate(code, { what: 'arguments', problem, fix });
}

function short(value: unknown): string {
  return excessOfValue(value) === undefined ? cutMiddle(visibleJson(value), 100) : 'a value that is nested too deeply or has too many parts';
}

/** Arguments of a signal. Signals cannot be refused: arguments that are not an object count as absent. */
export function signalArgs<T extends object>(given: T | undefined): Partial<T> {
  return isObject(given) ? given : {};
}
function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH;
}
