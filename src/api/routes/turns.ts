import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { endOfTurn, type EndedTurn } from '../../client/end-of-turn.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationParams, refusals, seq, turn } from './schemas.ts';

const MAX_WAIT_S = 60;

export const wait = seq.pipe(z.int().max(MAX_WAIT_S)).optional().meta({ description: 'Seconds to wait for the end of the turn; default 0', example: 30 });

export function addTurnRoutes(api: Api, parts: RouteParts): void {
  api.get(
    '/v1/conversations/:id/turn',
    {
      config: { scope: 'conversations:read' },
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
      const ended = await waited(parts, request, conversationId, request.query.turnId);
      return ended ? { turn: ended } : reply.code(202).send({});
    },
  );
}

/** The turn, if it ends within the request's `wait`, before the caller goes and before the process stops. */
export async function waited(
  { store, closing }: Pick<RouteParts, 'store' | 'closing'>,
  { query, raw }: Pick<FastifyRequest, 'query' | 'raw'>,
  conversationId: string,
  turnId: string | undefined,
): Promise<EndedTurn | undefined> {
  const { wait: seconds = 0 } = query as { wait?: number };
  if (seconds === 0) return endOfTurn(store, conversationId, { turnId, signal: undefined });
  const gone = new AbortController();
  const leave = () => gone.abort();
  raw.socket.once('close', leave);
  if (raw.socket.destroyed) leave();
  try {
    return await endOfTurn(store, conversationId, { turnId, signal: AbortSignal.any([AbortSignal.timeout(seconds * 1000), gone.signal, closing]) });
  } finally {
    raw.socket.off('close', leave);
  }
}
