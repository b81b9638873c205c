import { randomBytes } from 'node:crypto';
import type { WarmPool } from '../../../contracts/host-facts.ts';
import { hasLabels } from '../../../contracts/hosts/needs.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { drainPools } from './drain-pools.ts';
import { fillPool } from './fill-pool.ts';
import { matchingPoolKey } from './key-of.ts';

/** Shorter than the idle time of connections, so that those to warm sandboxes stay open. Milliseconds. */
const ROUND_EVERY_MS = 15_000;
/** A worker's ownership of a pool expires after this time unless the worker renews it. Milliseconds. */
const OWNED_FOR_MS = 60_000;

/** Fills pools now, after each claim and periodically, until it is disposed. Rounds do not overlap. A failed round is logged, and the next round retries. */
export function keepWarm(context: DockerContext, wanted: WarmPool[]): AsyncDisposable {
  const { pools, poolRows, log } = context;
  const ownerId = randomBytes(8).toString('hex');
  const stopped = new AbortController();
  let waiting: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();

  /** Claims that follow each other quickly share the next round. */
  const fill = () => {
    waiting ??= running.then(() => {
      waiting = undefined;
      running = stopped.signal.aborted ? Promise.resolve() : round(context, wanted, ownerId, stopped.signal);
      return running;
    });
  };
  pools.claimed = fill;
  fill();
  const timer = setInterval(fill, ROUND_EVERY_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stopped.abort();
      await waiting;
      await running;
      pools.claimed = () => undefined;
      pools.clear();
      try {
        await poolRows.leave(ownerId, { butFor: [] });
        await drainPools(context);
      } catch (error) {
        log.warn({ err: error }, 'warm sandboxes are left to the reaper');
      }
    },
  };
}

async function round(context: DockerContext, wanted: WarmPool[], ownerId: string, signal: AbortSignal): Promise<void> {
  const { poolRows, hostId, standardImage, log } = context;
  try {
    // Pools whose sandboxes are alike are one of the size of all.
    const kept = new Map<string, WarmPool>();
    // A host that is being drained keeps none.
    for (const pool of context.lease.state().isDraining ? [] : wanted.filter(({ options }) => hasLabels(context.hostLabels, options))) {
      const key = await matchingPoolKey(context, pool.options);
      if (key === undefined) {
        log.warn({ pool: pool.name, image: pool.options.image ?? standardImage }, 'a pool cannot be filled: its image is not on this machine');
        continue;
      }
      context.pools.set(pool.options, key);
      kept.set(key, { ...pool, size: pool.size + (kept.get(key)?.size ?? 0) });
    }
    for (const [key, { size }] of kept) await poolRows.own({ ownerId, hostId, key, size, forMs: OWNED_FOR_MS });
    await poolRows.leave(ownerId, { butFor: [...kept.keys()] });
    await drainPools(context);
    for (const [key, pool] of kept) await fillPool(context, pool, key, signal);
  } catch (error) {
    log.warn({ err: error }, 'warm sandboxes could not be made');
  }
}
