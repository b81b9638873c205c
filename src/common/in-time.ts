/**
 * Rejects with `late()` when the work times out, and with the signal's reason when the signal is aborted. The work itself continues; its result or rejection is
 * ignored then.
 */
export async function inTime<T>(work: PromiseLike<T> | T, limitMs: number, late: () => Error, signal?: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), limitMs);
    onAbort = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
  const working = Promise.resolve(work);
  working.catch(() => undefined);
  try {
    return await Promise.race([working, overdue]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The same, but resolves to `otherwise` when the work times out. */
export async function inTimeOr<T, U>(work: PromiseLike<T> | T, limitMs: number, otherwise: U): Promise<T | U> {
  const late = new Error('late');
  return inTime(work, limitMs, () => late).catch((error: unknown) => {
    if (error === late) return otherwise;
    throw error;
  });
}
