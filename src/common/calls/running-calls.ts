/** Calls that are counted while they are under way. */
export interface RunningCalls {
  counted<Result>(this: void, work: () => Promise<Result>): Promise<Result>;
  /** Resolves when none is under way, or when `signal` aborts, with the number of those that still are. */
  drained(this: void, signal: AbortSignal): Promise<number>;
}

export function createRunningCalls(): RunningCalls {
  let running = 0;
  let wake = () => {};
  return {
    async counted(work) {
      running += 1;
      try {
        return await work();
      } finally {
        running -= 1;
        if (running === 0) wake();
      }
    },
    async drained(signal) {
      if (running > 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      return running;
    },
  };
}
