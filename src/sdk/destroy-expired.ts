import type { SandboxOptions } from '../contracts/agent.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { SandboxRow } from '../store/sandbox-rows.ts';
import type { Store } from '../store/store.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';

interface Parts {
  store: Pick<Store, 'sandboxes'>;
  sandboxes: Sandboxes;
  log: Logger;
}

interface Which {
  /** By default, all that have expired. */
  found?: SandboxRow[];
  /** After it, no further one is begun. */
  signal?: AbortSignal;
}

/**
 * Destroys the expired sandboxes that this host can reach, or puts them to rest when their `onTtl` says so. Returns the ids of the destroyed ones. A sandbox
 * that cannot be destroyed now is left to the next round.
 */
export async function destroyExpired(parts: Parts, { found, signal }: Which = {}): Promise<string[]> {
  const { store, log } = parts;
  const destroyed: string[] = [];
  for (const row of found ?? (await store.sandboxes.listExpired())) {
    if (signal?.aborted) break;
    const { sandboxId } = row;
    try {
      if (await endOne(parts, row)) destroyed.push(sandboxId);
    } catch (error) {
      // The sandbox of another host is destroyed there.
      if (!isFailure(error, 'SANDBOX_UNREACHABLE')) log.warn({ sandboxId, err: error }, 'an expired sandbox could not be stopped or destroyed');
    }
  }
  if (destroyed.length > 0) log.info({ destroyed }, 'expired sandboxes were destroyed');
  return destroyed;
}

/** True when it was destroyed. */
async function endOne({ store, sandboxes }: Parts, { sandboxId, options, expiresAt }: SandboxRow): Promise<boolean> {
  const { onTtl = 'destroy' } = options as SandboxOptions;
  // Its time was prolonged since the list was read.
  if (expiresAt === undefined || (await store.sandboxes.get(sandboxId))?.expiresAt !== expiresAt) return false;
  if (onTtl === 'destroy') return destroy({ store, sandboxes }, sandboxId, expiresAt);
  await rest(sandboxes, { sandboxId, expiresAt }, onTtl);
  return false;
}

/** False when its time was prolonged before it was destroyed. */
async function destroy({ store, sandboxes }: Pick<Parts, 'store' | 'sandboxes'>, sandboxId: string, expiresAt: string): Promise<boolean> {
  await sandboxes.destroy(sandboxId, { expiresAt });
  return (await store.sandboxes.get(sandboxId))?.state === 'destroyed';
}

/** A sandbox that is used again afterwards is put to rest again in the next round, unless its time is prolonged. */
async function rest(sandboxes: Sandboxes, { sandboxId, expiresAt }: { sandboxId: string; expiresAt: string }, onTtl: 'stop' | 'hibernate'): Promise<void> {
  await (onTtl === 'stop' ? sandboxes.stop(sandboxId, { expiresAt }) : sandboxes.hibernate(sandboxId, { otherwise: 'stop', expiresAt }));
}
