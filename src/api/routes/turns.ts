import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { abortAfter } from '../../common/abort-after.ts';
import { endOfTurn, type EndedTurn } from '../../client/end-of-turn.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { untilGone } from '../http/until-gone.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationParams, refusals, seq, turn } from './schemas.ts';

const MAX_WAIT_S = 60;

export const wait = seq.pipe(z.int().max(MAX_WAIT_S)).optional().meta({ description: 'Seconds to wait for the end of the turn; default 0', example: 30 });

export function addTurnRoutes(api: Api, parts: RouteParts): void {
  api.get(
    '/v1/conversations/:id/turn',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'CONVERSATION_CLOSED', 'TURN_NOT_FOUND', 'STREAM_LIMIT'] },
      schema: {
        summary: 'Wait for the end of a turn',
        description: '200 with the turn when it has ended, 202 while it runs.',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.strictObject({ wait, turnId: z.string().optional().meta({ description: 'Default: the newest turn' }) }),
        response: { 200: z.object({ turn }), 202: z.object({}), ...refusals },
      },
    },
    async (request, reply) => {
      const { conversationId } = await conversationOf(parts.store, request.caller, request.params.id);
      requireWait(parts, request);
      const ended = await waited(parts, request, reply, conversationId, request.query.turnId);
      return ended ? { turn: ended } : reply.code(202).send({});
    },
  );
}

/** A request that waits counts like a stream. @throws STREAM_LIMIT when there is no room for it */
export function requireWait({ streams }: Pick<RouteParts, 'streams'>, { query, caller, held }: Pick<FastifyRequest, 'query' | 'caller' | 'held'>): void {
  const { wait: seconds = 0 } = query as { wait?: number };
  if (seconds > 0) streams.requireRoom(caller.keyId, leastOf(held, 'streams'));
}

/** The turn, if it ends within the request's `wait`, before the caller goes and before the process stops. */
export async function waited(
  { store, closing, streams }: Pick<RouteParts, 'store' | 'closing' | 'streams'>,
  { query, caller, held }: Pick<FastifyRequest, 'query' | 'caller' | 'held'>,
  reply: FastifyReply,
  conversationId: string,
  turnId: string | undefined,
): Promise<EndedTurn | undefined> {
  const { wait: seconds = 0 } = query as { wait?: number };
  if (seconds === 0) return endOfTurn(store, conversationId, { turnId, signal: undefined });
  const signal = abortAfter(seconds * 1000, untilGone(reply.raw), closing);
  return whileWaiting({ streams }, { caller, held }, () => endOfTurn(store, conversationId, { turnId, signal }));
}

/** Waits for what the request has begun, which counts like a stream; not at all where there is no room. */
export async function whileWaiting<Result>(
  { streams }: Pick<RouteParts, 'streams'>,
  { caller, held }: Pick<FastifyRequest, 'caller' | 'held'>,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await streams.wait(caller.keyId, work, leastOf(held, 'streams'));
  } catch (error) {
    // Others took the room since it was looked for: what the request began goes on without it.
    if (isFailure(error, 'STREAM_LIMIT')) return undefined;
    throw error;
  }
}
