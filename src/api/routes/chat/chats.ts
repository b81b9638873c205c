import type { FastifyRequest } from 'fastify';
import type { Attachment } from '../../../client/attachments/attachment-types.ts';
import { declaresSame, type RequestedTools } from '../../../client/client-tools/requested-tools.ts';
import { startConversation } from '../../../client/start-conversation.ts';
import { withoutUndefined } from '../../../common/without-undefined.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { ConversationRow } from '../../../store/store.ts';
import { mayReach, type Caller } from '../../auth/caller.ts';
import { derivedId } from '../../../platform/derived-id.ts';
import type { RouteParts } from '../../http/route-parts.ts';
import { haveSameAttachments } from '../same-attachments.ts';

/** A conversation that a client names by an id of its own. */
export interface NamedChat {
  conversationId: string;
  /** Absent when it has no message yet. */
  row?: ConversationRow;
  /** Its id is made of the chat's: nothing but a first message of the chat starts it. */
  isOwn: boolean;
}

export interface ChatMessage {
  messageId: string;
  text: string;
  attachments?: Attachment[];
  clientTools?: RequestedTools;
  /** Needed for the first message. */
  agent: string | undefined;
  user: string | undefined;
  closeWhenDone?: boolean;
  whenBusy?: 'steer';
}

/** A message that its conversation has taken. */
export interface TakenMessage {
  conversationId: string;
  turnId: string;
  /** Number of an event before its turn: a reader of the turn begins after it. */
  afterSeq: number;
}

/** Tenant of what an operator's key makes without naming one. */
const DEFAULT_TENANT = 'default';

/**
 * The conversation that a client's chat id stands for: one that has this id, or the one whose id is made of the installation, the caller's tenant and user, and
 * the chat's id.
 * @throws CONVERSATION_NOT_FOUND when it is not the user's
 */
export async function chatNamed({ store, client }: RouteParts, caller: Caller, chatId: string, user: string | undefined): Promise<NamedChat> {
  const ofUser = caller.userId === undefined ? [] : [caller.userId];
  const derived = derivedId('conv', [client.taskQueue, 'chat', caller.tenantId ?? DEFAULT_TENANT, chatId, ...ofUser]);
  for (const conversationId of [chatId, derived]) {
    const row = await store.conversations.get(conversationId);
    if (!row || !mayReach(caller, row)) continue;
    if (user !== undefined && user !== row.userId) throw failure('CONVERSATION_NOT_FOUND', { conversationId: chatId });
    return { conversationId, row, isOwn: conversationId === derived };
  }
  return { conversationId: derived, isOwn: true };
}

/** Sends a message, and starts the conversation when it is the first one. The same message at the same time, or again, is one message. */
export async function sendToChat(
  parts: RouteParts,
  request: Pick<FastifyRequest, 'caller' | 'ledTo'>,
  chat: NamedChat,
  message: ChatMessage,
): Promise<TakenMessage> {
  const { store } = parts;
  const { conversationId, row } = chat;
  const { messageId, text, attachments, clientTools } = message;
  const before = row ? await lastStart(parts, row) : 0;
  const turnId = row ? await send(parts, row, message, chat.isOwn) : await begin(parts, request.caller.tenantId, conversationId, message);
  const stored = await store.messages.read(conversationId, messageId);
  const isSame = stored?.text === text && declaresSame(stored.clientTools, clientTools) && (await haveSameAttachments(stored.attachments, attachments));
  if (!isSame) throw failure('MESSAGE_CHANGED', { messageId });
  request.ledTo = { conversationId, turnId };
  const startSeq = await store.events.turnStart(conversationId, turnId);
  return { conversationId, turnId, afterSeq: startSeq > 0 ? startSeq - 1 : before };
}

/** Number of the event that started the newest turn. What keeps the next one from starting comes after it. */
export async function lastStart({ store }: Pick<RouteParts, 'store'>, { conversationId, status }: ConversationRow): Promise<number> {
  const turnId = status.turnId ?? status.lastTurn?.turnId;
  return turnId === undefined ? 0 : store.events.turnStart(conversationId, turnId);
}

type Tenant = string | undefined;

async function begin(parts: RouteParts, tenant: Tenant, conversationId: string, message: ChatMessage): Promise<string> {
  try {
    return (await start(parts, tenant, conversationId, message)) ?? (await sendOnce(parts, conversationId, message));
  } catch (error) {
    // Another user has begun it since it was looked for.
    throw isFailure(error, 'CONVERSATION_EXISTS') ? failure('CONVERSATION_NOT_FOUND', { conversationId }, error) : error;
  }
}

/** Another request may have made the row of the chat without its workflow: it starts it in a moment, or has died. */
async function send(parts: RouteParts, row: ConversationRow, message: ChatMessage, isOwn: boolean): Promise<string> {
  const { conversationId, agentId: agent, userId: user, tenantId } = row;
  try {
    return await sendOnce(parts, conversationId, message);
  } catch (error) {
    if (!isOwn || !isFailure(error, 'CONVERSATION_UNSTARTED')) throw error;
    return begin(parts, tenantId, conversationId, { ...message, agent, user });
  }
}

async function sendOnce({ longshore }: RouteParts, conversationId: string, { messageId, text, ...given }: ChatMessage): Promise<string> {
  const { attachments, clientTools, whenBusy } = given;
  const options = { messageId, ...withoutUndefined({ attachments, clientTools, whenBusy }) };
  return (await longshore.send(conversationId, text, options)).turnId;
}

/** The turn of the first message; undefined when another request has started the conversation meanwhile. */
async function start(parts: RouteParts, tenant: Tenant, conversationId: string, message: ChatMessage): Promise<string | undefined> {
  const { messageId, text, attachments, clientTools, agent, user, closeWhenDone } = message;
  if (agent === undefined) throw missing('agent', 'Name an agent in the first message of a chat');
  if (user === undefined) throw missing('user', 'Say for whom the chat is, in its first message');
  const firstMessage = { messageId, turnId: derivedId('turn', [conversationId, messageId]) };
  const options = {
    agent,
    user,
    message: text,
    ...(attachments && { attachments }),
    ...(clientTools && { clientTools }),
    conversationId,
    firstMessage,
    ofUser: true as const,
    ...(tenant !== undefined && { tenant }),
    ...(closeWhenDone && { closeWhenDone }),
  };
  return (await startConversation(parts.client, options)).turnId;
}

function missing(field: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what: `body.${field}`, problem: 'it is undefined', fix });
}
