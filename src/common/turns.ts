export interface Turns {
  /** Does the work after all work that was given before, also when that failed. */
  inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** True when no work waits or runs. */
  isFree: () => boolean;
}

/** Does one piece of work after the other. Workflows may use it too: it uses only promises. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let underWay = 0;
  return {
    isFree: () => underWay === 0,
    inTurn(work) {
      underWay += 1;
      const done = last.then(work).finally(() => {
        underWay -= 1;
      });
      last = done.catch(() => undefined);
      return done;
    },
  };
}

/** Does the work of each key in turn. Work of different keys runs at the same time. */
export function createTurnsByKey(): <Result>(key: string, work: () => Promise<Result>) => Promise<Result> {
  const lines = new Map<string, Turns>();
  return async (key, work) => {
    const line = lines.get(key) ?? createTurns();
    lines.set(key, line);
    try {
      return await line.inTurn(work);
    } finally {
      if (lines.get(key) === line && line.isFree()) lines.delete(key);
    }
  };
}
