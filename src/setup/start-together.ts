import { anySignal } from '../common/any-signal.ts';

/**
 * Starts the parts of a stack and waits for them. When one fails, or `signal` is aborted, the signal of all parts is aborted and all are waited for, so that
 * the caller can stop everything that was started. Then this rejects with the first reason.
 */
export async function startTogether<T extends unknown[]>(
  signal: AbortSignal,
  start: (signal: AbortSignal) => { [Part in keyof T]: Promise<T[Part]> },
): Promise<T> {
  const ending = new AbortController();
  const parts = start(anySignal([signal, ending.signal]));
  try {
    return (await Promise.race([Promise.all(parts), rejectOnAbort(signal)])) as T;
  } catch (error) {
    ending.abort();
    await Promise.allSettled(parts);
    throw error;
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
}
