import { anySignal } from './any-signal.ts';

/** A signal that aborts after so many milliseconds, or with one of the others. */
export function abortAfter(ms: number, ...others: AbortSignal[]): AbortSignal {
  return anySignal([AbortSignal.timeout(ms), ...others]);
}
