import { z } from 'zod';
import { emptyUsage, readUsage } from '../../client/usage-calls.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import { failure } from '../../contracts/errors.ts';
import { USAGE_GROUPS, type UsageLine, type UsageTotals } from '../../contracts/usage.ts';
import type { UsagePlace } from '../../store/service/usage.ts';
import { reachOf } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { pageQuery } from '../routes/pages.ts';
import { refusals } from '../routes/schemas.ts';

const DEFAULT_PAGE = 50;
const MAX_CURSOR = 1_000;
const count = z.number();
const totals = z
  .object({
    calls: count.meta({ description: 'Answers of models that were stored' }),
    inputTokens: count.meta({ description: 'All of the input, with what providers read from their caches or wrote to them' }),
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    costUsd: z.number().nullable().meta({ description: 'US dollars; null when the cost of one of the calls is not known' }),
    knownCostUsd: z.number().meta({ description: 'US dollars of the calls whose cost is known' }),
    unpricedCalls: count.meta({ description: 'Calls whose cost is not known' }),
  })
  .meta({ id: 'UsageTotals' }) satisfies z.ZodType<UsageTotals>;
const line = totals
  .extend({
    key: z.string().meta({ description: 'The day (UTC), or the id or name that the calls have in common', example: '2027-01-31' }),
    tenantId: z.string().exactOptional().meta({ description: 'Of a user or a conversation' }),
  })
  .meta({ id: 'UsageLine' }) satisfies z.ZodType<UsageLine>;
const moment = z.string().max(50).optional();

export function addUsageRoutes(api: Api, { store }: RouteParts): void {
  api.get(
    '/v1/usage',
    {
      config: { scope: 'conversations:read' },
      schema: {
        summary: 'Read what model calls used and cost',
        description:
          'By day, agent, user, conversation, model or tenant. Each answer that was stored counts once. A key of a tenant sees the calls of its tenant.',
        tags: ['usage'],
        querystring: z.strictObject({
          from: moment.meta({ description: 'The first moment that counts, ISO 8601; default: 30 days before `to`', example: '2027-01-01' }),
          to: moment.meta({ description: 'The first moment that no longer counts; default: now', example: '2027-02-01' }),
          group: z.enum(USAGE_GROUPS).optional().meta({ description: 'Default `day`' }),
          agent: z.string().optional(),
          user: z.string().optional(),
          conversation: z.string().optional(),
          tenant: z.string().optional().meta({ description: "With an operator's key only" }),
          ...pageQuery,
          cursor: z.string().max(MAX_CURSOR).optional().meta({ description: 'The `next` of the page before' }),
        }),
        response: {
          200: z.object({
            from: z.string(),
            to: z.string(),
            group: z.enum(USAGE_GROUPS),
            lines: z.array(line).meta({ description: 'In the order of their keys' }),
            total: totals.meta({ description: 'Of all calls, also those of other pages' }),
            next: z.string().exactOptional().meta({ description: 'Absent on the last page' }),
          }),
          ...refusals,
        },
      },
    },
    async ({ caller, query: { cursor, ...query } }) => {
      // Calls of another tenant or user are none that this caller has.
      const reach = reachOf(caller, query);
      const options = withoutUndefined({ limit: DEFAULT_PAGE, ...query, ...(reach && { tenant: reach.tenantId, user: reach.userId }) });
      const { more, ...report } = !reach ? emptyUsage(options) : await readUsage(store, options, readPlace(cursor));
      return withoutUndefined({ ...report, next: more ? placeText(report.lines.at(-1)) : undefined });
    },
  );
}

function placeText(last: UsageLine | undefined): string | undefined {
  return last && Buffer.from(JSON.stringify([last.key, last.tenantId ?? ''])).toString('base64url');
}

function readPlace(cursor: string | undefined): UsagePlace | undefined {
  if (cursor === undefined) return undefined;
  const place = z.tuple([z.string(), z.string()]).safeParse(tryParseForeign(Buffer.from(cursor, 'base64url').toString()));
  if (!place.success) throw failure('INVALID_ARGUMENT', { what: 'query.cursor', problem: 'it is no cursor', fix: 'Give the `next` of the page before' });
  const [key, tenantId] = place.data;
  return { key, tenantId };
}
