import { readFileSync } from 'node:fs';

/** Linux: nanoseconds that this thread has run, nanoseconds that it has waited for a processor, and how often it ran. */
const STATISTICS = '/proc/thread-self/schedstat';

/** Milliseconds of processor time of this thread, which a busy machine does not lengthen; elapsed time where the system does not tell it. */
export function threadMs(): number {
  try {
    return Number.parseInt(readFileSync(STATISTICS, 'utf8'), 10) / 1e6;
  } catch {
    return performance.now();
  }
}
