import { isFailure } from '../contracts/errors.ts';
import type { Logger } from './log.ts';
import { pause } from '../common/pause.ts';

/** Milliseconds before each retry. For a moment after a removal, engines refuse to make the same again ("id already in use", "content already exists"). */
const DELAYS = [50, 200, 500, 1000, 2000, 4000, 8000];

/** Retries a call to the engine with growing pauses while the engine refuses it. */
export async function retried<T>(call: () => Promise<T>, { log, what }: { log: Logger; what: string }): Promise<T> {
  for (const delay of DELAYS) {
    try {
      return await call();
    } catch (error) {
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      log.info({ problem: error.message, again: delay }, `${what}: the engine refused, trying again`);
      await pause(delay);
    }
  }
  return call();
}
