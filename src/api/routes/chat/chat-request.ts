import { z } from 'zod';
import { id } from '../../../common/arguments.ts';
import { showValue } from '../../../common/show-value.ts';
import { failure } from '../../../contracts/errors.ts';
import { readApprovalId, type ApprovalId } from '../../protocols/ui-stream/approval-ids.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  state: z.string().optional(),
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
const FIX = 'Send a message of the user, or the answer to an approval';

type UiMessage = ChatBody['messages'][number];

/** What a request of a chat asks for. */
export type ChatRequest = { kind: 'message'; messageId: string; text: string } | ApprovalAnswers;

export interface ApprovalAnswers {
  kind: 'approvals';
  turnId: string;
  answers: (ApprovalId & { approved: boolean; reason?: string })[];
  /** The client has the parts of the events up to this one. */
  seenSeq: number;
}

/** @throws INVALID_ARGUMENT for what cannot be done, so that nothing is left out in silence */
export function readChatRequest({ messages, trigger, messageId }: ChatBody): ChatRequest {
  if (trigger === 'regenerate-message') throw refused('body.trigger', 'an answer cannot be made again', 'Send a message that says what should be different');
  // After a message that was sent while an approval waited, the answer is in a message before the last one.
  const named = messages.find((one) => one.id === messageId && one.role === 'assistant' && answersOf(one).length > 0);
  const read = named ?? messages.at(-1);
  if (read?.role === 'user') return { kind: 'message', messageId: read.id, text: textOf(read) };
  if (read?.role === 'assistant') return readAnswers(read);
  throw refused(LAST, `its role is ${showValue(read?.role)}`, FIX);
}

function readAnswers(message: UiMessage): ApprovalAnswers {
  const answers = answersOf(message);
  if (answers.length === 0) throw refused(LAST, 'it is of the assistant, and answers no approval', FIX);
  return { kind: 'approvals', turnId: message.id, answers, seenSeq: Math.max(message.metadata?.seq ?? 0, ...answers.map(({ seq }) => seq)) };
}

function answersOf({ parts }: UiMessage): ApprovalAnswers['answers'] {
  return parts.flatMap(({ state, approval }) => {
    if (state !== 'approval-responded') return [];
    const { id: approvalId = '', approved, reason } = approval ?? {};
    const known = readApprovalId(approvalId);
    if (!known || approved === undefined) throw refused('body.messages: an approval', `its id is ${showValue(approvalId)}`, 'Send it back as it came');
    return [{ ...known, approved, ...(reason !== undefined && { reason }) }];
  });
}

function textOf({ parts }: UiMessage): string {
  return parts
    .map(({ type, text }) => {
      if (type === 'text' && text !== undefined) return text;
      throw refused(LAST, `it has a part of the type ${showValue(type)}`, 'Send text only');
    })
    .join('\n');
}

function refused(what: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}
