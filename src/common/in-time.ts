/**
 * Rejects with `late()` when the work takes longer, and with the signal's reason when it is aborted. The work itself goes on; what becomes of it is of no interest
 * then, its rejection included.
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

/** As `inTime`, where being late is an answer like any other. */
export async function inTimeOr<T, U>(work: PromiseLike<T> | T, limitMs: number, otherwise: U): Promise<T | U> {
  const late = new Error('late');
  return inTime(work, limitMs, () => late).catch((error: unknown) => {
    if (error === late) return otherwise;
    throw error;
  });
}
