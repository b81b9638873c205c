import { randomBytes } from 'node:crypto';
import type { WarmPool } from '../../../contracts/host-facts.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fitsHere } from '../base/fits-here.ts';
import { drainPools } from './drain-pools.ts';
import { fillPool } from './fill-pool.ts';
import { matchingPoolKey } from './key-of.ts';

/** Shorter than the idle time of connections, so that those to warm sandboxes stay open. Milliseconds. */
const ROUND_EVERY_MS = 15_000;
/** A worker's ownership of a pool expires after this time unless the worker renews it. Milliseconds. */
const OWNED_FOR_MS = 60_000;

/** What a process keeps. */
interface Keeper {
  ownerId: string;
  /** The pools of its newest round, by key. */
  kept: Map<string, WarmPool>;
}

/** Fills pools now, after each claim and periodically, until it is disposed. Rounds do not overlap. A failed round is logged, and the next round retries. */
export function keepWarm(context: DockerContext, wanted: WarmPool[]): AsyncDisposable {
  const { pools, poolRows, log } = context;
  const keeper: Keeper = { ownerId: randomBytes(8).toString('hex'), kept: new Map() };
  const stopped = new AbortController();
  let waiting: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  let renewing: Promise<void> = Promise.resolve();

  /** Claims that follow each other quickly share the next round. */
  const fill = () => {
    waiting ??= running.then(() => {
      waiting = undefined;
      running = stopped.signal.aborted ? Promise.resolve() : round(context, wanted, keeper, stopped.signal);
      return running;
    });
  };
  pools.claimed = fill;
  fill();
  const timer = setInterval(() => {
    // Also during a round: to fill large pools takes longer than an ownership lasts.
    renewing = renewing.then(() => own(context, keeper)).catch((error: unknown) => log.warn({ err: error }, 'the ownership of pools could not be renewed'));
    fill();
  }, ROUND_EVERY_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stopped.abort();
      await waiting;
      await running;
      await renewing;
      pools.claimed = () => undefined;
      pools.clear();
      try {
        await poolRows.leave(keeper.ownerId, { butFor: [] });
        await drainPools(context);
      } catch (error) {
        log.warn({ err: error }, 'warm sandboxes are left to the reaper');
      }
    },
  };
}

async function own({ poolRows, hostId }: DockerContext, { ownerId, kept }: Keeper): Promise<void> {
  for (const [key, { size }] of kept) await poolRows.own({ ownerId, hostId, key, size, forMs: OWNED_FOR_MS });
}

async function round(context: DockerContext, wanted: WarmPool[], keeper: Keeper, signal: AbortSignal): Promise<void> {
  const { poolRows, log } = context;
  try {
    // A host that is being drained keeps none.
    const kept = context.lease.state().isDraining ? new Map<string, WarmPool>() : await poolsHere(context, wanted);
    keeper.kept = kept;
    await own(context, keeper);
    await poolRows.leave(keeper.ownerId, { butFor: [...kept.keys()] });
    await drainPools(context);
    for (const [key, pool] of kept) await fillOrTell(context, pool, key, signal);
  } catch (error) {
    log.warn({ err: error }, 'warm sandboxes could not be made');
  }
}

/** The pools of which this host can have sandboxes, by key. */
async function poolsHere(context: DockerContext, wanted: WarmPool[]): Promise<Keeper['kept']> {
  const { pools, standardImage, log } = context;
  // Pools whose sandboxes are alike are one of the size of all.
  const kept: Keeper['kept'] = new Map();
  for (const pool of wanted) {
    if (!(await fitsHere(context, pool.options))) continue;
    const key = await matchingPoolKey(context, pool.options);
    if (key === undefined) {
      log.warn({ pool: pool.name, image: pool.options.image ?? standardImage }, 'a pool cannot be filled: its image is not on this machine');
      continue;
    }
    pools.set(pool.options, key);
    kept.set(key, { ...pool, size: pool.size + (kept.get(key)?.size ?? 0) });
  }
  return kept;
}

/** A pool whose sandboxes cannot be made keeps none of the others from being filled. */
async function fillOrTell(context: DockerContext, pool: WarmPool, key: string, signal: AbortSignal): Promise<void> {
  try {
    await fillPool(context, pool, key, signal);
  } catch (error) {
    context.log.warn({ pool: pool.name, err: error }, 'warm sandboxes could not be made');
  }
}
