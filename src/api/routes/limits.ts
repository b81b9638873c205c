import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Limits, LimitsOf } from '../../contracts/limits/limits.ts';
import { requireOperator } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from './schemas.ts';

const ADMIN = { scope: 'admin', errors: ['OPERATOR_REQUIRED'] } as const;
const TAGS = ['operators'];
const count = z.int().min(0).optional();
const limits = {
  requestsPerMinute: count.meta({ description: 'At all processes together', example: 600 }),
  streams: count.meta({ description: 'Streams and waiting requests that each key may have open at one process', example: 20 }),
  runningConversations: count.meta({ description: 'Conversations of the tenant in which a turn runs', example: 10 }),
  runningTurns: count.meta({ description: 'Turns of the tenant that run at the same time; others wait in order. A key has no such limit', example: 20 }),
  tokensPerDay: count.meta({ description: 'Tokens of model calls in the last 24 hours', example: 1_000_000 }),
  costUsdPerDay: z.number().min(0).optional().meta({ description: 'US dollars of model calls in the last 24 hours', example: 5 }),
};
const limitsOf = z
  .object({
    tenant: z.string().exactOptional(),
    key: z.string().exactOptional().meta({ description: 'Id of a key' }),
    limits: z.object(limits) as z.ZodType<Limits>,
    updatedAt: z.string(),
  })
  .meta({ id: 'Limits' }) satisfies z.ZodType<LimitsOf>;
const all = { 200: z.object({ limits: z.array(limitsOf) }), ...refusals };

/** What operators set in place of the defaults, LONGSHORE_LIMITS. */
export function addLimitRoutes(api: Api, { longshore, longshoreFor }: RouteParts): void {
  api.get(
    '/v1/limits',
    { config: ADMIN, schema: { summary: 'List the limits of tenants and keys that differ from the defaults', tags: TAGS, response: all } },
    async ({ caller }) => {
      requireOperator(caller, 'limits');
      return { limits: await longshore.limits.list() };
    },
  );
  api.put(
    '/v1/limits',
    {
      config: { ...ADMIN, errors: [...ADMIN.errors, 'KEY_NOT_FOUND'] },
      schema: {
        summary: 'Replace the limits of a tenant or a key',
        description: 'They are in force after 5 seconds at the latest. Without any, the defaults hold again.',
        tags: TAGS,
        body: z.strictObject({ tenant: z.string().optional().meta({ example: 'acme' }), key: z.string().optional(), ...limits }),
        response: all,
      },
    },
    async (request) => {
      requireOperator(request.caller, 'limits');
      await longshoreFor(request).limits.set(withoutUndefined(request.body));
      return { limits: await longshore.limits.list() };
    },
  );
}
