type Mode = 'shared' | 'alone';

interface SharedLock {
  /** Number of holders; -1 for one that is alone. */
  holders: number;
  waiting: { mode: Mode; grant: () => void }[];
}

/** Locks as a database gives them: in the order in which they are wanted, shared ones together. */
export class SharedLocks {
  readonly #locks = new Map<string, SharedLock>();

  /** Resolves, with the function that releases it, when the lock is held. */
  async take(row: string, mode: Mode): Promise<() => void> {
    const lock = this.#locks.get(row) ?? { holders: 0, waiting: [] };
    this.#locks.set(row, lock);
    const granted = new Promise<void>((grant) => lock.waiting.push({ mode, grant }));
    serve(lock);
    await granted;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      lock.holders = mode === 'alone' ? 0 : lock.holders - 1;
      serve(lock);
    };
  }
}

function serve(lock: SharedLock): void {
  for (;;) {
    const [next] = lock.waiting;
    if (next === undefined || lock.holders < 0 || (next.mode === 'alone' && lock.holders > 0)) return;
    lock.waiting.shift();
    lock.holders = next.mode === 'alone' ? -1 : lock.holders + 1;
    next.grant();
  }
}
