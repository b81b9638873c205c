import type { Logger } from './log.ts';
import { pause } from '../common/pause.ts';

/** Milliseconds before each further try. */
const DELAYS = [50, 500, 2000];

/**
 * Removes what a refused operation has made. Tries again where that fails for a moment, and never rejects: the error that led here is the one to report, and
 * the reaper removes what is left.
 */
export async function cleanUp(work: () => Promise<unknown>, { log, what, ...about }: { log: Logger; what: string; [about: string]: unknown }): Promise<void> {
  for (const delay of [...DELAYS, undefined]) {
    try {
      await work();
      return;
    } catch (error) {
      if (delay === undefined) log.warn({ ...about, err: error }, `${what} is left to the reaper`);
      else await pause(delay);
    }
  }
}
