import { roundUsd, type UsageTotals } from '../../contracts/usage.ts';

/** Columns that add up rows of `model_calls`. */
export const USAGE_TOTALS = `count(*)::float8 as calls, coalesce(sum(input_tokens), 0)::float8 as input, coalesce(sum(output_tokens), 0)::float8 as output,
  coalesce(sum(cache_read_tokens), 0)::float8 as cache_read, coalesce(sum(cache_write_tokens), 0)::float8 as cache_write,
  coalesce(sum(cost_usd), 0)::float8 as known_cost, (count(*) - count(cost_usd))::float8 as unpriced`;

/** What limits count of a model call. */
export const RECENT_CALL = 'tenant_id, at, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd';

/** All model calls: each of the conversations that exist, and those of removed ones by day, under no conversation. */
export const ALL_USAGE = `(
    select at, tenant_id, agent_id, user_id, conversation_id, model, 1 as calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
      cost_usd, (cost_usd is null)::int as unpriced from model_calls
    union all
    select day::timestamp at time zone 'UTC', tenant_id, agent_id, user_id, '', model, calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
      cost_usd, unpriced from usage_days
  ) as used`;

/** Columns that add up rows of `ALL_USAGE`. */
export const ALL_TOTALS = `coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(input_tokens), 0)::float8 as input, coalesce(sum(output_tokens), 0)::float8 as output,
  coalesce(sum(cache_read_tokens), 0)::float8 as cache_read, coalesce(sum(cache_write_tokens), 0)::float8 as cache_write,
  coalesce(sum(cost_usd), 0)::float8 as known_cost, coalesce(sum(unpriced), 0)::float8 as unpriced`;

const ADDED = ['calls', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'cost_usd', 'unpriced'];
const KEYS = 'tenant_id, day, agent_id, user_id, model';

/** Adds rows to `usage_days`. `rows` is a statement with their columns, whose order keeps two statements at the same time from waiting for each other. */
export function addUsageDays(rows: string): string {
  const sums = ADDED.map((name) => `${name} = usage_days.${name} + excluded.${name}`).join(', ');
  return `insert into usage_days (${KEYS}, ${ADDED.join(', ')}) ${rows} order by ${KEYS} on conflict (${KEYS}) do update set ${sums}`;
}

/** The model calls of `from`, a list of tables with `model_calls`, by day. */
export function callsByDay(from: string): string {
  return `select tenant_id, (at at time zone 'UTC')::date as day, agent_id, user_id, model, count(*), sum(input_tokens), sum(output_tokens),
    coalesce(sum(cache_read_tokens), 0), coalesce(sum(cache_write_tokens), 0), coalesce(sum(cost_usd), 0), count(*) - count(cost_usd) from ${from} group by ${KEYS}`;
}

export interface TotalsRow {
  calls: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  known_cost: number;
  unpriced: number;
}

export function toTotals(row: TotalsRow): UsageTotals {
  const knownCostUsd = roundUsd(row.known_cost);
  return {
    calls: row.calls,
    inputTokens: row.input,
    outputTokens: row.output,
    cacheReadTokens: row.cache_read,
    cacheWriteTokens: row.cache_write,
    costUsd: row.unpriced === 0 ? knownCostUsd : null,
    knownCostUsd,
    unpricedCalls: row.unpriced,
  };
}
