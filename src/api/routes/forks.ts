import { z } from 'zod';
import { forkOptions } from '../../client/client-arguments.ts';
import { findPlace, forkConversation } from '../../client/fork-conversation.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { FORK_FILES, type ForkOptions } from '../../contracts/forks/fork.ts';
import type { ConversationRow } from '../../store/store.ts';
import { requireRoom } from '../auth/require-room.ts';
import { refuseMadeId, repeatableIds, type RepeatableIds } from '../http/idempotency.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationId, conversationParams, idempotencyHeader, refusals } from './schemas.ts';

/** What a fork takes; all of it has a default. */
const forkBody = z.strictObject({
  at: z.string().optional().meta({ description: 'Id of a turn, a step or a checkpoint; default: the end of the newest finished step' }),
  files: z
    .enum(FORK_FILES)
    .optional()
    .meta({ description: '`exact` (default): those of that moment; `now`: those that the source has now; `none`: a new sandbox' }),
  message: z.string().optional().meta({ description: 'The first message for the fork', example: 'Try it without the cache' }),
  conversationId: z.string().optional().meta({ description: 'An id of your own for the fork; generated when absent' }),
});

export function addForkRoutes(api: Api, parts: RouteParts): void {
  api.post(
    '/v1/conversations/:id/fork',
    {
      config: {
        scope: 'conversations:write',
        repeated: 'ids',
        errors: [
          'CONVERSATION_NOT_FOUND',
          'AGENT_NOT_FOUND',
          'MESSAGE_INVALID',
          'FORK_REFUSED',
          'FORK_FILES_UNKNOWN',
          'CHECKPOINT_NOT_FOUND',
          'CONVERSATION_EXISTS',
          'CONVERSATION_REMOVING',
          'IDEMPOTENCY_MISMATCH',
        ],
      },
      schema: {
        summary: 'Fork a conversation',
        description:
          'Begins another conversation of the same agent and user, with what was said and done up to a place and the files of that moment. Nothing runs again. Its first turn waits for its files: the event `fork.ready`, or `fork.failed` before it is closed, says how that ended.',
        tags: ['conversations'],
        params: conversationParams,
        headers: z.looseObject(idempotencyHeader),
        body: forkBody.optional(),
        response: { 201: z.object({ conversationId, turnId: z.string().optional().meta({ description: 'The turn of the message' }) }), ...refusals },
      },
    },
    async (request, reply) => {
      const { body = {}, caller, headers, params } = request;
      const source = await conversationOf(parts.store, caller, params.id);
      await refuseMadeId(parts, caller, body.conversationId);
      const ids = body.conversationId === undefined ? repeatableIds(parts, caller, headers, `forks of ${source.conversationId}`) : undefined;
      const options = forkOptions({ ...body, ...(ids && { conversationId: ids.id('conv') }) });
      if (ids) await refuseOther(parts, ids, source, options);
      await requireRoom(parts.store, request);
      const firstMessage = ids && { messageId: ids.id('msg'), turnId: ids.id('turn') };
      const forked = await forkConversation(parts.client, source, {
        ...options,
        ...(firstMessage && { firstMessage }),
        ...(caller.userId !== undefined && { ofUser: true }),
      });
      const id = forked.conversationId;
      const turnId = options.message === undefined ? undefined : (forked.turnId ?? firstMessage?.turnId);
      if (turnId !== undefined) request.ledTo = { conversationId: id, turnId };
      return reply
        .code(201)
        .header('location', `/v1/conversations/${encodeURIComponent(id)}`)
        .send(withoutUndefined({ conversationId: id, turnId }));
    },
  );
}

/** @throws IDEMPOTENCY_MISMATCH when another request with the same key has made the fork */
async function refuseOther({ store }: RouteParts, ids: RepeatableIds, source: ConversationRow, { at, files = 'exact', message }: ForkOptions): Promise<void> {
  const known = await store.forks.get(ids.id('conv'));
  if (!known) return;
  const isSamePlace = at === undefined || (await findPlace(store, source, at)).place.transcriptSeq === known.transcriptSeq;
  const text = await store.messages.get(ids.id('conv'), ids.id('msg'));
  if (!isSamePlace || known.files !== files || (text !== undefined && text !== message)) throw failure('IDEMPOTENCY_MISMATCH', { key: ids.key });
}
