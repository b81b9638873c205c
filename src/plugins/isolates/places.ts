import { failure } from '../../contracts/errors.ts';

/** An owner of at most one current process. */
export interface Lodger {
  /** Its process runs and is not in use. */
  isIdle(): boolean;
  /** When it was last used, in milliseconds of one clock. */
  usedAt(): number;
  admit(place: ProcessPlace): void;
  /** Ends its process in an orderly way; the place is released after that. */
  evict(): void;
}

/** The right to run one process. */
export interface ProcessPlace {
  /** Its process is about to end. */
  leaving: boolean;
  release(): void;
}

export interface Waiting {
  /** Name of what waits, for messages. */
  name: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Limits the number of processes that run at the same time. */
export interface Places {
  /**
   * Resolves when the lodger has been admitted. Where no place is free, the idle process that was used least recently is ended. While all are in use, lodgers
   * wait in the order of their requests.
   * @throws TOOL_FAILED when the wait timed out; the reason of the signal when it aborts.
   */
  wait(lodger: Lodger, waiting: Waiting): Promise<void>;
  /** Must be called when a process is no longer in use. */
  look(): void;
  /** Fails all waits of a lodger. */
  dismiss(lodger: Lodger, why: string): void;
}

interface Waiter {
  lodger: Lodger;
  name: string;
  settle: (error?: Error) => void;
}

export function createPlaces(limit: number): Places {
  const taken = new Map<ProcessPlace, Lodger>();
  let queue: Waiter[] = [];
  const admit = (lodger: Lodger): void => {
    const place: ProcessPlace = {
      leaving: false,
      release() {
        if (taken.delete(place)) look();
      },
    };
    taken.set(place, lodger);
    lodger.admit(place);
    const admitted = queue.filter((waiter) => waiter.lodger === lodger);
    queue = queue.filter((waiter) => waiter.lodger !== lodger);
    for (const { settle } of admitted) settle();
  };
  const look = (): void => {
    for (let first = queue[0]; first && taken.size < limit; first = queue[0]) admit(first.lodger);
    if (queue.length === 0) return;
    const wanted = new Set(queue.map(({ lodger }) => lodger)).size;
    const leaving = [...taken.keys()].filter((place) => place.leaving).length;
    const idle = [...taken].filter(([place, lodger]) => !place.leaving && lodger.isIdle()).map(([, lodger]) => lodger);
    const oldest = idle.toSorted((one, other) => one.usedAt() - other.usedAt());
    for (const lodger of oldest.slice(0, Math.max(0, wanted - leaving))) lodger.evict();
  };
  return {
    look,
    async wait(lodger, { name, timeoutMs, signal }) {
      signal?.throwIfAborted();
      const problem = `it waited ${Math.ceil(timeoutMs)} ms for a process; all ${limit} that LONGSHORE_PLUGIN_PROCESSES allows are in use`;
      await new Promise<void>((resolve, reject) => {
        const give = (error: Error): void => {
          queue = queue.filter((each) => each !== waiter);
          waiter.settle(error);
        };
        const timer = setTimeout(() => give(failure('TOOL_FAILED', { tool: name, problem })), timeoutMs);
        const abort = (): void => give(signal?.reason as Error);
        const settle = (error?: Error): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', abort);
          if (error) reject(error);
          else resolve();
        };
        const waiter = { lodger, name, settle };
        signal?.addEventListener('abort', abort, { once: true });
        queue.push(waiter);
        look();
      });
    },
    dismiss(lodger, why) {
      const dismissed = queue.filter((waiter) => waiter.lodger === lodger);
      queue = queue.filter((waiter) => waiter.lodger !== lodger);
      for (const { name, settle } of dismissed) settle(failure('PLUGIN_ENDED', { tool: name, why }));
    },
  };
}
