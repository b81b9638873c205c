import { setTimeout as pause } from 'node:timers/promises';
import { isFailure, type LongshoreError } from '../../contracts/errors.ts';

/** How a caller waits for memory or disk of a host. */
export interface Waiting {
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
  /** Called with the reason each time that it has to wait. */
  onWait?: (why: LongshoreError) => void;
}

/**
 * Repeats what has no effect when it fails for want of memory or disk, until there is room: for callers that cannot come again. It keeps its place in the queue meanwhile.
 * @throws what `act` throws: HOST_WAIT_OVER or HOST_DISK_WAIT_OVER after the longest wait; the reason of the signal
 */
export async function untilRoom<T>(act: () => Promise<T>, { signal, onWait }: Waiting = {}): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!isFailure(error, 'HOST_FULL') && !isFailure(error, 'HOST_DISK_FULL')) throw error;
      onWait?.(error);
      signal?.throwIfAborted();
      await pause(Number(error.values['retryAfterMs'] ?? AGAIN_MS), undefined, signal && { signal });
    }
  }
}

const AGAIN_MS = 1000;
