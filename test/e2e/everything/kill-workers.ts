import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation, WorkerProcess } from '../support.ts';

/** What a run is repeated with: the number of a variable, or a new one. */
export function seedFrom(variable: string): number {
  return Number(process.env[variable] ?? Math.floor(Math.random() * 2 ** 31));
}

export interface Killing extends AsyncDisposable {
  /** Until now. */
  kills(): number;
  /** No more are killed: those that are there go on working until the end of this object, which ends them. */
  stop(): Promise<void>;
}

/** Of two workers, kills one after the other at random moments, each of which has another in its place, up to a number of kills, or until it is stopped. */
export async function killWorkers(installation: Installation, random: () => number, most = Infinity): Promise<Killing> {
  let kills = 0;
  const over = new AbortController();
  const working: WorkerProcess[] = [installation.startWorker(), installation.startWorker()];
  let next = installation.startWorker();
  await Promise.all(working.map(({ ready }) => ready));
  const killing = (async () => {
    while (kills < most && !over.signal.aborted) {
      await sleep(500 + random() * 2500, undefined, { signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
      const [killed] = working.splice(Math.floor(random() * working.length), 1);
      await killed?.kill();
      kills += 1;
      await next.ready;
      working.push(next);
      next = installation.startWorker();
    }
  })();
  const stop = async () => {
    over.abort();
    await killing;
    await next.ready;
  };
  return {
    kills: () => kills,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await Promise.all([...working, next].map((worker) => worker.kill()));
    },
  };
}
