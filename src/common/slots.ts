export interface Slots {
  /**
   * Resolves when there is a free one, in the order of the requests, with a function that gives it back.
   * @throws the reason of the signal when it aborts before.
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Limits how much of something is done at the same time. */
export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();
  const giveBack = (): void => {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else next();
  };
  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.delete(begin);
          signal.removeEventListener('abort', abort);
        };
        const begin = (): void => {
          leave();
          resolve(giveBack);
        };
        const abort = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        if (signal.aborted) return abort();
        if (free === 0) {
          waiting.add(begin);
          signal.addEventListener('abort', abort, { once: true });
          return;
        }
        free -= 1;
        begin();
      }),
  };
}
