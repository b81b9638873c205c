import { setTimeout as sleep } from 'node:timers/promises';
import { LongshoreError, type ErrorCode } from '../../src/contracts/errors.ts';

/** Errors that a client may get while parts are away. Everything that is asked here may be asked again. */
const PASSING: readonly ErrorCode[] = [
  'HOST_AWAY',
  'NO_WORKER',
  'POSTGRES_UNAVAILABLE',
  'POSTGRES_FULL',
  'SERVICE_AWAY',
  'SERVICE_UNREACHABLE',
  'TEMPORAL_UNAVAILABLE',
];
const PAUSE_MS = 200;

/** Asks again while parts are away. Other errors, and the end of `signal`, are thrown. */
export async function insist<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

export function isPassing(error: unknown): boolean {
  return error instanceof LongshoreError && PASSING.includes(error.code);
}
