import { withoutUndefined } from '../common/without-undefined.ts';
import { failure } from '../contracts/errors.ts';
import type { UsageReport, UsageTotals } from '../contracts/usage.ts';
import type { UsageFilter, UsagePlace } from '../store/service/usage.ts';
import type { Store } from '../store/store.ts';
import { usageOptions } from './client-arguments.ts';
import type { UsageOptions } from './types/installation-types.ts';

const DEFAULT_LINES = 100;
const NO_USAGE: UsageTotals = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  knownCostUsd: 0,
  unpricedCalls: 0,
};
const DEFAULT_PERIOD_MS = 30 * 24 * 3_600_000;

/** One page of a report; `after`: the last line of the page before. */
export async function readUsage({ usage }: Pick<Store, 'usage'>, options: UsageOptions | undefined, after?: UsagePlace): Promise<UsageReport> {
  const { agent, user, tenant, conversation, group = 'day', limit = DEFAULT_LINES, ...given } = usageOptions(options);
  const period = periodOf(given);
  const filter: UsageFilter = { ...period, ...withoutUndefined({ agentId: agent, userId: user, tenantId: tenant, conversationId: conversation }) };
  const [lines, total] = await Promise.all([usage.lines(filter, { group, limit: limit + 1, ...(after && { after }) }), usage.total(filter)]);
  return { ...period, group, lines: lines.slice(0, limit), more: lines.length > limit, total };
}

/** The report about no calls. */
export function emptyUsage(options: UsageOptions): UsageReport {
  const { group = 'day', ...given } = usageOptions(options);
  return { ...periodOf(given), group, lines: [], more: false, total: NO_USAGE };
}

/** The period that is meant: up to now, and from 30 days before its end, unless the options say otherwise. @throws INVALID_ARGUMENT when it is empty */
export function periodOf({ from, to = new Date().toISOString() }: { from?: string; to?: string }): { from: string; to: string } {
  const period = { from: from ?? new Date(Date.parse(to) - DEFAULT_PERIOD_MS).toISOString(), to };
  if (period.from < period.to) return period;
  throw failure('INVALID_ARGUMENT', { what: 'options of usage.from', problem: `${period.from} is not before ${to}`, fix: 'Give an earlier time' });
}
