import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import type { Api } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';
import type { ApiMetrics } from './api-metrics.ts';

export function addMetricsRoute(api: Api, metrics: ApiMetrics): void {
  api.get(
    '/metrics',
    {
      config: { scope: 'admin', errors: ['OPERATOR_REQUIRED'], mediaType: 'text/plain' },
      schema: {
        summary: 'Figures of this process for Prometheus',
        description: "Needs an operator's key.",
        tags: ['operators'],
        response: { 200: z.string(), ...refusals },
      },
    },
    async ({ caller }, reply) => {
      if (caller.tenantId !== undefined) throw failure('OPERATOR_REQUIRED', { what: 'metrics' });
      return reply.type(metrics.contentType).send(await metrics.render());
    },
  );
}
