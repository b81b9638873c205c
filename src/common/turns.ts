export interface Turns {
  /** Does the work when all that was given before is done; one that fails does not hold up the next. */
  inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** True when nothing waits or is under way. */
  isFree: () => boolean;
}

/** Does one piece of work after the other. Also for workflows: it uses promises alone. */
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

/** The same for the work of each key; that of different keys goes on side by side. */
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
