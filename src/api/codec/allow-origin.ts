import type { FastifyReply, FastifyRequest } from 'fastify';

const PREFLIGHT_SECONDS = '600';

/** Lets pages of these origins read the answers of a route, also its refusals. Other pages get no header, and their browser keeps the answer from them. */
export function allowOrigin(origins: readonly string[]) {
  return async ({ method, headers: { origin } }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    void reply.header('vary', 'origin');
    if (origin === undefined || !origins.includes(origin)) return;
    void reply.headers({ 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' });
    if (method !== 'OPTIONS') return;
    void reply.headers({
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type, x-namespace',
      'access-control-max-age': PREFLIGHT_SECONDS,
    });
  };
}
