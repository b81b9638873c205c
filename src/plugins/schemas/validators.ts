import { Lane, type TaskEnding, type LaneLimits, type Task } from './lane.ts';
import { makeThreadProgram } from './thread-program.ts';

/** Threads that compile schemas and check values, so that no schema can block the worker's event loop. */
export interface Validators {
  /** @param owner owner of the schema: at most one task of an owner runs at a time, owners take turns, and one whose tasks take long does not delay the others */
  run(owner: string, task: Task): Promise<TaskEnding>;
}

const LIMITS: LaneLimits = { checkMs: 2_000, compileMs: 5_000, memoryMb: 256, idleMs: 60_000 };
const FAST_LANES = 2;
/** After a task that took longer, the tasks of its owner run in the slow lane for a time. */
const LONG_MS = 250;
const SLOW_FOR_MS = 60_000;
const SLOW_AFTER_OVERRUN_MS = 600_000;
const MOST_WAITING = 200;

interface Waiting {
  owner: string;
  task: Task;
  settle: (ending: Promise<TaskEnding> | TaskEnding) => void;
}

export function createValidators(given: Partial<LaneLimits> = {}, makeProgram: () => Promise<string> = makeThreadProgram): Validators {
  const limits = { ...LIMITS, ...given };
  const load = madeOnce(makeProgram);
  const lanes = Array.from({ length: FAST_LANES + 1 }, (_, index) => ({ lane: new Lane(load, limits), isSlow: index === FAST_LANES, isBusy: false }));
  const waiting: Waiting[] = [];
  const running = new Set<string>();
  const slowUntil = new Map<string, number>();
  /** Number of the last task of each owner that has one running or waiting. */
  const lastTask = new Map<string, number>();
  let tasks = 0;
  const isSlow = (owner: string) => (slowUntil.get(owner) ?? 0) > performance.now();

  return {
    run(owner, task) {
      if (waiting.filter((each) => each.owner === owner).length >= MOST_WAITING) {
        return Promise.resolve({ overrun: `waits behind ${MOST_WAITING} others of the same plugin` });
      }
      return new Promise<TaskEnding>((settle) => {
        waiting.push({ owner, task, settle });
        dispatch();
      });
    },
  };

  function dispatch(): void {
    for (const place of lanes) {
      if (place.isBusy) continue;
      const next = longestUnserved(waiting.filter(({ owner }) => isSlow(owner) === place.isSlow && !running.has(owner)));
      if (next === undefined) continue;
      waiting.splice(waiting.indexOf(next), 1);
      lastTask.set(next.owner, (tasks += 1));
      void work(place, next);
    }
  }

  /** The first one of the owner whose last task is longest ago. */
  function longestUnserved(candidates: Waiting[]): Waiting | undefined {
    const taskBefore = ({ owner }: Waiting): number => lastTask.get(owner) ?? 0;
    return candidates.reduce<Waiting | undefined>((best, each) => (best && taskBefore(best) <= taskBefore(each) ? best : each), undefined);
  }

  async function work(place: (typeof lanes)[number], { owner, task, settle }: Waiting): Promise<void> {
    place.isBusy = true;
    running.add(owner);
    const ending = place.lane.run(task);
    settle(ending);
    try {
      remember(owner, await ending);
    } catch {
      // The caller of `run` gets the error.
    } finally {
      place.isBusy = false;
      running.delete(owner);
      dispatch();
      if (!running.has(owner) && !waiting.some((each) => each.owner === owner)) lastTask.delete(owner);
    }
  }

  function remember(owner: string, ending: TaskEnding): void {
    const slowMs = 'overrun' in ending ? SLOW_AFTER_OVERRUN_MS : ending.tookMs > LONG_MS ? SLOW_FOR_MS : 0;
    if (slowMs === 0) return;
    slowUntil.delete(owner);
    slowUntil.set(owner, performance.now() + slowMs);
    for (const [each, until] of slowUntil) if (until < performance.now()) slowUntil.delete(each);
  }
}

/** What is made the first time is kept; a failure is not. */
function madeOnce<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}
