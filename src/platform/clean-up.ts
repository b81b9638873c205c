import type { Logger } from './log.ts';
import { pause } from '../common/pause.ts';

/** Milliseconds before each retry. */
const DELAYS = [50, 500, 2000];

/**
 * Removes what a failed operation has made. Retries `work` when it fails, and never rejects: the caller reports the error of the operation, and the reaper
 * removes what is left.
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
