import { z } from 'zod';
import { sendOptions, startOptions } from '../../client/client-arguments.ts';
import { declaresSame } from '../../client/client-tools/requested-tools.ts';
import { startConversation, type StartRequest } from '../../client/start-conversation.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { stableJson } from '../../common/stable-json.ts';
import { failure } from '../../contracts/errors.ts';
import { asKept } from '../../store/database/json-text.ts';
import { tenantFor, userFor } from '../auth/tenant-for.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refuseMadeId, repeatableIds, type RepeatableIds } from '../http/idempotency.ts';
import { requireRoom } from '../auth/require-room.ts';
import { attachmentsBody, BODY_WITH_ATTACHMENTS } from './attachments.ts';
import { clientToolsBody } from './client-tools.ts';
import { COMMAND_ERRORS, conversationOf } from './conversation-of.ts';
import { conversationId, conversationParams, idempotencyHeader, outputSchema, refusals, turn } from './schemas.ts';
import { haveSameAttachments } from './same-attachments.ts';
import { requireWait, wait, waited } from './turns.ts';

const MESSAGE_ERRORS = ['MESSAGE_INVALID', 'ATTACHMENT_INVALID', 'ATTACHMENTS_FULL', 'OUTPUT_INVALID', 'CLIENT_TOOLS_REFUSED'] as const;
const START_ERRORS = [
  'AGENT_NOT_FOUND',
  ...MESSAGE_ERRORS,
  'CONVERSATION_EXISTS',
  'CONVERSATION_REMOVING',
  'CONVERSATION_CLOSED',
  'IDEMPOTENCY_MISMATCH',
  'STREAM_LIMIT',
] as const;
const idempotency = z.looseObject(idempotencyHeader);
const started = z.object({ conversationId, turnId: z.string().optional(), turn: turn.optional() });
const sent = z.object({ messageId: z.string(), turnId: z.string(), duplicate: z.boolean(), turn: turn.optional() });

export function addConversationRoutes(api: Api, parts: RouteParts): void {
  addStart(api, parts);
  addSend(api, parts);
}

function addStart(api: Api, parts: RouteParts): void {
  api.post(
    '/v1/conversations',
    {
      config: {
        scope: 'conversations:write',
        repeated: 'ids',
        errors: START_ERRORS,
      },
      bodyLimit: BODY_WITH_ATTACHMENTS,
      schema: {
        summary: 'Start a conversation',
        description: '201 with the turn if it ends within `wait`, or if there is no message; otherwise 202, and `GET …/events` follows it.',
        tags: ['conversations'],
        headers: idempotency,
        querystring: z.strictObject({ wait }),
        body: z.strictObject({
          agent: z.string().meta({ description: 'Id of an agent', example: 'captain' }),
          user: z.string().optional().meta({ description: 'For whom; an id of your own. Needed with a key; a token has its own', example: 'user-1' }),
          message: z.string().optional().meta({ example: 'What is the tide at noon?' }),
          attachments: attachmentsBody.optional(),
          output: outputSchema.optional(),
          clientTools: clientToolsBody.optional(),
          tenant: z.string().optional().meta({ description: "With an operator's key only; other keys have a tenant of their own" }),
          unattended: z.boolean().optional().meta({ description: 'No person can approve calls' }),
          closeWhenDone: z.boolean().optional(),
          conversationId: z
            .string()
            .optional()
            .meta({ description: 'An id of your own; generated when absent. Keys of tenants cannot choose one that looks like a generated id' }),
        }),
        response: { 201: started, 202: started, ...refusals },
      },
    },
    async (request, reply) => {
      const { body, caller, headers } = request;
      // An id of the caller's own names the conversation by itself.
      const ids = body.conversationId === undefined ? repeatableIds(parts, caller, headers, 'conversations') : undefined;
      const options = startOptions({
        ...body,
        user: userFor(caller, body.user),
        tenant: tenantFor(caller, body.tenant),
        ...(ids && { conversationId: ids.id('conv') }),
      });
      await refuseMadeId(parts, caller, body.conversationId);
      requireWait(parts, request);
      if (options.message !== undefined) await requireRoom(parts.store, request);
      const { id, turnId } = await start(parts, ids, { ...options, ...(caller.userId !== undefined && { ofUser: true }) });
      if (turnId !== undefined) request.ledTo = { conversationId: id, turnId };
      const ended = turnId === undefined ? undefined : await waited(parts, request, reply, id, turnId);
      return reply
        .code(ended || turnId === undefined ? 201 : 202)
        .header('location', `/v1/conversations/${encodeURIComponent(id)}`)
        .send(withoutUndefined({ conversationId: id, turnId, turn: ended }));
    },
  );
}

/** Starts the conversation, or finds the one that the same request has started before. There is no turn without a message. */
async function start(parts: RouteParts, ids: RepeatableIds | undefined, options: StartRequest): Promise<{ id: string; turnId?: string }> {
  const firstMessage = ids && { messageId: ids.id('msg'), turnId: ids.id('turn') };
  const { conversationId: id, turnId = firstMessage?.turnId } = await startConversation(parts.client, { ...options, ...(firstMessage && { firstMessage }) });
  if (ids) await refuseOther(parts, ids, id, options);
  return { id, ...(options.message !== undefined && turnId !== undefined && { turnId }) };
}

/** @throws IDEMPOTENCY_MISMATCH when the conversation was started by another request with the same key */
async function refuseOther({ store }: RouteParts, ids: RepeatableIds, id: string, { agent, user, message, ...given }: StartRequest): Promise<void> {
  const row = await store.conversations.get(id);
  const isSame = message === undefined || (await isSameMessage(store, id, ids.id('msg'), message, given));
  if (row?.agentId !== agent || row.userId !== user || !isSame) throw failure('IDEMPOTENCY_MISMATCH', { key: ids.key });
}

/** Whether the message with this id, if there is one, is the same. */
async function isSameMessage(
  { messages }: RouteParts['store'],
  conversation: string,
  messageId: string,
  message: string,
  { output, attachments, clientTools }: Pick<StartRequest, 'output' | 'attachments' | 'clientTools'>,
): Promise<boolean> {
  const found = await messages.read(conversation, messageId);
  if (found === undefined) return true;
  const known = await messages.outputOf(conversation, messageId);
  const areSame = await haveSameAttachments(found.attachments, attachments);
  const hasSameOutput = asKept(stableJson(known ?? null)) === asKept(stableJson(output ?? null));
  return areSame && found.text === message && hasSameOutput && declaresSame(found.clientTools, clientTools);
}

function addSend(api: Api, parts: RouteParts): void {
  const { longshore, store } = parts;
  api.post(
    '/v1/conversations/:id/messages',
    {
      config: {
        scope: 'conversations:write',
        repeated: 'ids',
        errors: [...COMMAND_ERRORS, 'CONVERSATION_BUSY', 'CONVERSATION_SUSPENDED', ...MESSAGE_ERRORS, 'IDEMPOTENCY_MISMATCH', 'STREAM_LIMIT', 'NO_WORKER'],
      },
      bodyLimit: BODY_WITH_ATTACHMENTS,
      schema: {
        summary: 'Send a message',
        description: '200 with the turn that answers it, if that ends within `wait`; otherwise 202.',
        tags: ['conversations'],
        params: conversationParams,
        headers: idempotency,
        querystring: z.strictObject({ wait }),
        body: z.strictObject({
          message: z.string().meta({ description: 'May be empty when there are attachments', example: 'And tomorrow?' }),
          attachments: attachmentsBody.optional(),
          whenBusy: z.enum(['queue', 'steer', 'interrupt', 'reject']).optional().meta({ description: 'What to do while a turn runs; default queue' }),
          messageId: z.string().optional().meta({ description: 'Two messages with one id are one message; generated when absent' }),
          output: outputSchema.optional(),
          clientTools: clientToolsBody.optional(),
        }),
        response: { 200: sent, 202: sent, ...refusals },
      },
    },
    async (request, reply) => {
      const { body, caller, headers, params } = request;
      const { conversationId: id } = await conversationOf(store, caller, params.id);
      const { message, ...options } = body;
      const ids = body.messageId === undefined ? repeatableIds(parts, caller, headers, id) : undefined;
      const messageId = body.messageId ?? ids?.id('msg');
      const isOther = ids && messageId !== undefined && !(await isSameMessage(store, id, messageId, message, sendOptions(options)));
      if (isOther) throw failure('IDEMPOTENCY_MISMATCH', { key: ids.key });
      requireWait(parts, request);
      await requireRoom(store, request);
      const accepted = await longshore.send(id, message, withoutUndefined({ ...options, messageId }));
      request.ledTo = { conversationId: id, turnId: accepted.turnId };
      const ended = await waited(parts, request, reply, id, accepted.turnId);
      return reply.code(ended ? 200 : 202).send({ ...accepted, ...(ended && { turn: ended }) });
    },
  );
}
