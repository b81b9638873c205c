import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 100;

/** Runs one refresh at a time. All requests during a refresh lead to one more refresh. */
export function createRefresh(refresh: () => Promise<unknown>, onProblem: (error: unknown) => void): () => void {
  let running = false;
  let wanted = false;
  const work = async (): Promise<void> => {
    running = true;
    while (wanted) {
      wanted = false;
      await refresh().catch(onProblem);
      await sleep(PAUSE_MS, undefined, { ref: false });
    }
    running = false;
  };
  return () => {
    wanted = true;
    if (!running) void work();
  };
}
