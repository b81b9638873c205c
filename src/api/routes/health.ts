import { z } from 'zod';
import type { Api, RouteParts } from '../http/route-parts.ts';

const OPEN = { scope: 'none', mediaType: 'text/plain' } as const;

export function addHealthRoutes(api: Api, { store, stopping }: RouteParts): void {
  api.get(
    '/healthz',
    { config: OPEN, schema: { summary: 'Whether the process runs', tags: ['operations'], response: { 200: z.string() } } },
    async () => 'ok\n',
  );
  api.get(
    '/readyz',
    {
      config: OPEN,
      schema: {
        summary: 'Whether the process takes requests',
        description: 'False while it stops, and while Postgres does not answer. Load balancers ask this.',
        tags: ['operations'],
        response: { 200: z.string(), 503: z.string() },
      },
    },
    async (_request, reply) => {
      if (stopping.aborted) return reply.code(503).send('stopping\n');
      return (await store.ping()) ? 'ok\n' : reply.code(503).send('Postgres does not answer\n');
    },
  );
  api.get('/openapi.json', { config: OPEN, schema: { hide: true } }, () => api.swagger());
}
