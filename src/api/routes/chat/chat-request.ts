import { z } from 'zod';
import type { Attachment } from '../../../client/attachments/attachment-types.ts';
import { id } from '../../../common/arguments.ts';
import { showValue } from '../../../common/show-value.ts';
import { failure } from '../../../contracts/errors.ts';
import type { Json } from '../../../contracts/json.ts';
import { attachmentIn } from './data-urls.ts';
import { readApprovalId, type ApprovalId } from '../../protocols/ui-stream/approval-ids.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  url: z.string().optional(),
  state: z.string().optional(),
  toolCallId: z.string().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  preliminary: z.boolean().optional(),
  providerExecuted: z.boolean().optional(),
  approval: z.looseObject({ id: z.string().optional(), approved: z.boolean().optional(), reason: z.string().optional() }).optional(),
});
const message = z.looseObject({
  id,
  role: z.string(),
  parts: z.array(part),
  metadata: z
    .looseObject({ seq: z.int().min(0).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** What a client of the AI SDK posts. */
export const chatBody = z
  .looseObject({
    id: id.meta({ description: 'Id of the chat: an id of your own, or that of a conversation', example: 'chat-1' }),
    messages: z
      .array(message)
      .min(1)
      .meta({
        description: 'Only the newest is read: the conversation has those before it',
        example: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is the tide at noon?' }] }],
      }),
    trigger: z.string().optional(),
    messageId: z.string().optional(),
    agent: z.string().optional().meta({ description: 'Id of an agent; needed in the first message of a chat', example: 'captain' }),
    user: id.optional().meta({ description: 'For whom; needed in the first message of a chat. In later ones, another user is refused', example: 'user-1' }),
  })
  .meta({ id: 'ChatRequest' });
export type ChatBody = z.output<typeof chatBody>;
const LAST = 'body.messages: the last one';
const FIX = 'Send a message of the user, the answer to an approval, or the result of a call';

type UiMessage = ChatBody['messages'][number];

/** What a request of a chat asks for. */
export type ChatRequest = { kind: 'message'; messageId: string; text: string; attachments?: Attachment[] } | ChatAnswers;

/** Answers to approvals, and results of calls that the page has run. */
export interface ChatAnswers {
  kind: 'answers';
  turnId: string;
  approvals: (ApprovalId & { approved: boolean; reason?: string })[];
  results: { callId: string; result: Json; isError: boolean }[];
  /** The client has the parts of the events up to this one. */
  seenSeq: number;
}

/** @throws INVALID_ARGUMENT for what cannot be done, so that nothing is left out in silence */
export function readChatRequest({ messages, trigger, messageId }: ChatBody): ChatRequest {
  if (trigger === 'regenerate-message') throw refused('body.trigger', 'an answer cannot be made again', 'Send a message that says what should be different');
  // After a message that was sent while an approval waited, the answer is in a message before the last one.
  const named = messages.find((one) => one.id === messageId && one.role === 'assistant' && hasAnswers(one));
  const read = named ?? messages.at(-1);
  if (read?.role === 'user') return { kind: 'message', messageId: read.id, ...contentOf(read) };
  if (read?.role === 'assistant') return readAnswers(read);
  throw refused(LAST, `its role is ${showValue(read?.role)}`, FIX);
}

function hasAnswers(message: UiMessage): boolean {
  return approvalsOf(message).length > 0 || resultsOf(message).length > 0;
}

function readAnswers(message: UiMessage): ChatAnswers {
  if (!hasAnswers(message)) throw refused(LAST, 'it is of the assistant, and answers no approval and no call', FIX);
  const approvals = approvalsOf(message);
  const seenSeq = Math.max(message.metadata?.seq ?? 0, ...approvals.map(({ seq }) => seq));
  return { kind: 'answers', turnId: message.id, approvals, results: resultsOf(message), seenSeq };
}

/** Of calls that the page has run; the service has those of its own. */
function resultsOf({ parts }: UiMessage): ChatAnswers['results'] {
  return parts.flatMap(({ type, state, toolCallId: callId, output = null, errorText = '', preliminary, providerExecuted }): ChatAnswers['results'] => {
    const isOfPage = type.startsWith('tool-') && providerExecuted !== true && preliminary !== true;
    if (!isOfPage || callId === undefined) return [];
    if (state === 'output-error') return [{ callId, result: errorText, isError: true }];
    return state === 'output-available' ? [{ callId, result: output as Json, isError: false }] : [];
  });
}

function approvalsOf({ parts }: UiMessage): ChatAnswers['approvals'] {
  return parts.flatMap(({ state, approval }) => {
    if (state !== 'approval-responded') return [];
    const { id: approvalId = '', approved, reason } = approval ?? {};
    const known = readApprovalId(approvalId);
    if (!known || approved === undefined) throw refused('body.messages: an approval', `its id is ${showValue(approvalId)}`, 'Send it back as it came');
    return [{ ...known, approved, ...(reason !== undefined && { reason }) }];
  });
}

/** Files of a page are in the message itself. */
function contentOf({ parts }: UiMessage): { text: string; attachments?: Attachment[] } {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const { type, text, mediaType, filename, url } of parts) {
    if (type === 'text' && text !== undefined) texts.push(text);
    else if (type === 'file') attachments.push(attachmentIn(LAST, url, { name: filename ?? `file-${attachments.length + 1}`, mediaType }));
    else throw refused(LAST, `it has a part of the type ${showValue(type)}`, 'Send texts and files only');
  }
  return { text: texts.join('\n'), ...(attachments.length > 0 && { attachments }) };
}

function refused(what: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}
