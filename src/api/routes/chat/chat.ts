import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { id } from '../../../common/arguments.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { requireScope } from '../../auth/caller.ts';
import { ownUser } from '../../auth/tenant-for.ts';
import { answerWithStream, type PreparedStream } from '../../http/answer-with-stream.ts';
import { refuseAsText } from '../../http/refuse.ts';
import type { Api, RouteParts } from '../../http/route-parts.ts';
import { beginMessage } from '../../protocols/ui-stream/ui-state.ts';
import { createUiView } from '../../protocols/ui-stream/ui-view.ts';
import { COMMAND_ERRORS } from '../conversation-of.ts';
import { uiMessage } from '../schemas.ts';
import { uiPageOf, uiPageQuery } from '../ui-page.ts';
import { chatBody, readChatRequest, type ChatAnswers } from './chat-request.ts';
import { giveResults } from './give-results.ts';
import { chatNamed, lastStart, sendToChat, type NamedChat } from './chats.ts';
import { requireRoom } from '../../auth/require-room.ts';

/** Of a body that has all messages of a chat. */
const BODY_BYTES = 30_000_000;
/** Says which format the stream has. */
const FORMAT = { 'x-vercel-ai-ui-message-stream': 'v1' };
const TAGS = ['chat'];

const EXAMPLE = 'data: {"type":"start","messageId":"turn_01kq0p0g7fm3c8w2y5t9x2"}\n\ndata: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n';
const stream = z.string().meta({ description: 'A UI message stream', example: EXAMPLE });
/** Of a route that sends a stream. */
const STREAM = { mediaType: 'text/event-stream', refusals: 'text' } as const;
const params = z.object({ id: id.meta({ description: 'Id of the chat', example: 'chat-1' }) });
const headers = z.looseObject({
  'x-longshore-user': id
    .optional()
    .meta({ description: 'The chat must be of this user: for an application that serves several users with one key', example: 'user-1' }),
});

/** Chats of pages that are made with the AI SDK. */
export function addChatRoutes(api: Api, parts: RouteParts): void {
  addPost(api, parts);
  addResume(api, parts);
  addMessages(api, parts);
  addStop(api, parts);
}

function addPost(api: Api, parts: RouteParts): void {
  api.post(
    '/api/chat',
    {
      config: {
        ...STREAM,
        scope: 'conversations:write',
        repeated: 'ids',
        errors: [
          'AGENT_NOT_FOUND',
          'CONVERSATION_NOT_FOUND',
          'CONVERSATION_EXISTS',
          'CONVERSATION_CLOSED',
          'CONVERSATION_UNSTARTED',
          'MESSAGE_INVALID',
          'ATTACHMENT_INVALID',
          'ATTACHMENTS_FULL',
          'MESSAGE_CHANGED',
          'APPROVAL_MISMATCH',
          'STREAM_LIMIT',
        ],
      },
      bodyLimit: BODY_BYTES,
      errorHandler: refuseAsText,
      schema: {
        summary: 'Send a message of a chat, answer its approvals, or give results of its client tools',
        description:
          'The answer is the UI message stream of the turn. It ends when a call waits for a person or for the page; the answers are sent with the same message.',
        tags: TAGS,
        headers,
        body: chatBody,
        response: { 200: stream },
      },
    },
    async (request, reply) => {
      await answerWithStream(parts, request, reply, async () => {
        const { body, caller } = request;
        const wanted = readChatRequest(body);
        const user = ownUser(caller, userOf(body.user, request.headers));
        const chat = await chatNamed(parts, caller, body.id, user);
        if (wanted.kind === 'answers') return answer(parts, request, chat, wanted);
        await requireRoom(parts.store, request);
        return send(parts, request, chat, { ...wanted, agent: body.agent, user });
      });
      return reply;
    },
  );
}

/** A page cannot choose the user that the application names in the header. */
function userOf(inBody: string | undefined, { 'x-longshore-user': inHeader }: { 'x-longshore-user'?: string | undefined }): string | undefined {
  if (inBody === undefined || inHeader === undefined || inBody === inHeader) return inHeader ?? inBody;
  throw failure('INVALID_ARGUMENT', { what: 'body.user', problem: 'it is not the user of the header x-longshore-user', fix: 'Leave one of them out' });
}

async function send(parts: RouteParts, request: FastifyRequest, chat: NamedChat, message: Parameters<typeof sendToChat>[3]): Promise<PreparedStream> {
  const { conversationId, turnId, afterSeq } = await sendToChat(parts, request, chat, message);
  return { conversationId, afterSeq, view: createUiView({ state: beginMessage(conversationId, turnId), seenSeq: 0 }), headers: FORMAT };
}

/** An answer that comes too late changes nothing: the stream shows what became of the call. */
async function answer(parts: RouteParts, request: FastifyRequest, { conversationId, row }: NamedChat, wanted: ChatAnswers): Promise<PreparedStream> {
  const { turnId, approvals, results, seenSeq } = wanted;
  if (approvals.length > 0) requireScope(request.caller, 'approvals:resolve');
  const startSeq = row ? await parts.store.events.turnStart(conversationId, turnId) : 0;
  if (!row || startSeq === 0) {
    throw failure('INVALID_ARGUMENT', { what: 'body.messages: the last one', problem: 'its id is of no turn of this chat', fix: 'Send it back as it came' });
  }
  for (const { callId, hash, approved, reason } of approvals) {
    const options = { callId, hash, answer: approved ? ('allow-once' as const) : ('deny' as const), by: row.userId, ...(reason !== undefined && { reason }) };
    try {
      await parts.longshoreFor(request).approve(conversationId, options);
    } catch (error) {
      if (!isFailure(error, 'APPROVAL_NOT_FOUND') && !isFailure(error, 'CONVERSATION_CLOSED')) throw error;
    }
  }
  await giveResults(parts.longshore, conversationId, results);
  const idsOf = (calls: readonly { callId: string }[]) => calls.map(({ callId }) => callId);
  const state = beginMessage(conversationId, turnId, idsOf(approvals), idsOf(results));
  return { conversationId, afterSeq: startSeq - 1, view: createUiView({ state, seenSeq }), headers: FORMAT };
}

function addResume(api: Api, parts: RouteParts): void {
  api.get(
    '/api/chat/:id/stream',
    {
      config: { ...STREAM, scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'STREAM_LIMIT'] },
      errorHandler: refuseAsText,
      schema: {
        summary: 'Follow the running message of a chat, from its start',
        description: '204 when no turn runs. With `message`, the message of that turn, also when the turn has ended.',
        tags: TAGS,
        params,
        headers,
        querystring: z.object({ message: z.string().optional().meta({ description: 'Id of a message of the agent' }) }),
        response: { 200: stream, 204: z.undefined().meta({ description: 'No turn runs' }) },
      },
    },
    async (request, reply) => {
      const chat = await chatNamed(parts, request.caller, request.params.id, request.headers['x-longshore-user']);
      const wanted = await turnToFollow(parts, chat, request.query.message);
      if (!wanted) return reply.code(204).send();
      const { conversationId } = chat;
      const view = createUiView({ state: beginMessage(conversationId, wanted.turnId), seenSeq: 0 });
      await answerWithStream(parts, request, reply, async () => ({ conversationId, afterSeq: wanted.afterSeq, view, headers: FORMAT }));
      return reply;
    },
  );
}

async function turnToFollow(
  parts: RouteParts,
  { row }: NamedChat,
  message: string | undefined,
): Promise<{ turnId: string | undefined; afterSeq: number } | undefined> {
  if (!row) return undefined;
  const turnId = message ?? row.status.turnId;
  // A message was taken, and its turn starts in a moment.
  if (turnId === undefined) return row.state === 'running' ? { turnId, afterSeq: await lastStart(parts, row) } : undefined;
  const startSeq = await parts.store.events.turnStart(row.conversationId, turnId);
  return startSeq === 0 ? undefined : { turnId, afterSeq: startSeq - 1 };
}

function addMessages(api: Api, parts: RouteParts): void {
  api.get(
    '/api/chat/:id/messages',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND'], refusals: 'text' },
      errorHandler: refuseAsText,
      schema: {
        summary: 'Read the messages of a chat',
        description:
          'For the first sight of a page: the newest messages as `UIMessage[]` of the AI SDK, with the ids that the streams give them. An empty list for a chat without messages. ' +
          'When there are older ones, the header `x-longshore-next` is the `before` of their page.',
        tags: TAGS,
        params,
        headers,
        querystring: z.strictObject(uiPageQuery),
        response: { 200: z.array(uiMessage) },
      },
    },
    async ({ caller, params, headers, query }, reply) => {
      const { conversationId, row } = await chatNamed(parts, caller, params.id, headers['x-longshore-user']);
      const { messages, next } = row ? await uiPageOf(parts, conversationId, query) : { messages: [] };
      if (next !== undefined) void reply.header('x-longshore-next', String(next));
      return messages;
    },
  );
}

function addStop(api: Api, parts: RouteParts): void {
  api.post(
    '/api/chat/:id/stop',
    {
      config: { scope: 'conversations:write', repeated: 'answer', errors: COMMAND_ERRORS, refusals: 'text' },
      errorHandler: refuseAsText,
      schema: {
        summary: 'End the running turn of a chat',
        description: 'A client that only closes its stream ends nothing.',
        tags: TAGS,
        params,
        headers,
        response: { 202: z.object({ accepted: z.literal(true) }) },
      },
    },
    async (request, reply) => {
      const { conversationId, row } = await chatNamed(parts, request.caller, request.params.id, request.headers['x-longshore-user']);
      if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId: request.params.id });
      await parts.longshoreFor(request).interrupt(conversationId);
      return reply.code(202).send({ accepted: true });
    },
  );
}
