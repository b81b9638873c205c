import { withoutUndefined } from '../../common/without-undefined.ts';
import type { UsageLine, UsageReport } from '../../contracts/usage.ts';
import { usageOptions } from '../client-arguments.ts';
import type { Longshore } from '../types.ts';
import { periodOf } from '../usage-calls.ts';
import type { HttpLink } from './http-link.ts';

const DEFAULT_LINES = 100;
const MOST_PER_PAGE = 200;

/** Reads the pages of a report, which all have the same period. */
export function createHttpUsage(link: HttpLink): Longshore['usage'] {
  return async (options) => {
    const { limit = DEFAULT_LINES, from, to, ...rest } = usageOptions(options);
    let period = withoutUndefined({ from, to });
    if (period.to !== undefined) periodOf(period);
    const lines: UsageLine[] = [];
    for (let cursor: string | undefined; ;) {
      const query = new URLSearchParams(withoutUndefined({ ...rest, ...period, cursor, limit: String(Math.min(MOST_PER_PAGE, limit - lines.length)) }));
      const { next, ...report } = (await link.json(`/v1/usage?${query.toString()}`)) as Omit<UsageReport, 'more'> & { next?: string };
      // Up to now, which the clock of the service says.
      period = { from: report.from, to: report.to };
      lines.push(...report.lines);
      if (next === undefined || lines.length >= limit) return { ...report, lines, more: next !== undefined };
      cursor = next;
    }
  };
}
