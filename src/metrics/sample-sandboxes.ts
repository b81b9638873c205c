import type { Logger } from '../platform/log.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Store } from '../store/store.ts';

export interface SamplerParts {
  store: Pick<Store, 'samples'>;
  sandboxes: Sandboxes;
  log: Logger;
}

const EVERY_MS = 30_000;
/** Samples that are closer together than this come from another worker of this host. */
const APART_MS = 20_000;
/** Files are measured in one of so many rounds, because the engine reads whole volumes for it. */
const DISK_ROUNDS = 10;

/**
 * Stores in Postgres what the running sandboxes of this host use, every 30 seconds until it is disposed of. A failed round is logged; the next round tries
 * again.
 */
export function startSampling({ store, sandboxes, log }: SamplerParts): AsyncDisposable {
  let rounds = 0;
  let round: Promise<void> = Promise.resolve();
  let idle = true;
  const sample = async () => {
    idle = false;
    try {
      await sampleSandboxes({ store, sandboxes }, { disk: rounds % DISK_ROUNDS === 0, apartMs: APART_MS });
    } catch (error) {
      log.warn({ err: error }, 'sandboxes could not be measured');
    }
    rounds += 1;
    idle = true;
  };
  const timer = setInterval(() => {
    // A slow engine must not get a second request at the same time.
    if (idle) round = sample();
  }, EVERY_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await round;
    },
  };
}

/** Runs one round. */
export async function sampleSandboxes({ store, sandboxes }: Omit<SamplerParts, 'log'>, options: { disk: boolean; apartMs: number }): Promise<void> {
  const samples = (await sandboxes.measure?.({ disk: options.disk })) ?? [];
  await store.samples.add(samples, options);
}
