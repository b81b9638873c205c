import { RecentMap } from '../common/recent-map.ts';
import { createLogLimit, type Log, type LogLimit } from '../plugins/api/log-limit.ts';

/** Limits of plugins in use that a worker remembers. */
const REMEMBERED = 10_000;

/** Limits by name: each has the same limit in all calls, and what the log says of it is about all of them. */
export type LogLimits = (name: string, about: object) => LogLimit;

export function createLogLimits(log: Log): LogLimits {
  const limits = new RecentMap<string, LogLimit>(REMEMBERED);
  return (name, about) => {
    const known = limits.get(name) ?? createLogLimit(log, about);
    limits.set(name, known);
    return known;
  };
}
