import type { SandboxOptions } from '../contracts/agent.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';

interface Parts {
  store: Pick<Store, 'sandboxes'>;
  sandboxes: Sandboxes;
  log: Logger;
}

/**
 * Destroys the expired sandboxes that this host can reach, or puts them to rest when their `onTtl` says so. Returns the ids of the destroyed ones. A sandbox
 * that cannot be destroyed now is left to the next round.
 */
export async function destroyExpired({ store, sandboxes, log }: Parts): Promise<string[]> {
  const destroyed: string[] = [];
  for (const { sandboxId, options, expiresAt } of await store.sandboxes.listExpired()) {
    const { onTtl = 'destroy' } = options as SandboxOptions;
    try {
      // Its time was prolonged since the list was read.
      if (expiresAt === undefined || (await store.sandboxes.get(sandboxId))?.expiresAt !== expiresAt) continue;
      if (onTtl !== 'destroy') await rest(sandboxes, sandboxId, onTtl);
      else if (await destroy({ store, sandboxes }, sandboxId, expiresAt)) destroyed.push(sandboxId);
    } catch (error) {
      // The sandbox of another host is destroyed there.
      if (!isFailure(error, 'SANDBOX_UNREACHABLE')) log.warn({ sandboxId, err: error }, 'an expired sandbox could not be stopped or destroyed');
    }
  }
  if (destroyed.length > 0) log.info({ destroyed }, 'expired sandboxes were destroyed');
  return destroyed;
}

/** False when its time was prolonged before it was destroyed. */
async function destroy({ store, sandboxes }: Pick<Parts, 'store' | 'sandboxes'>, sandboxId: string, expiresAt: string): Promise<boolean> {
  await sandboxes.destroy(sandboxId, { expiresAt });
  return (await store.sandboxes.get(sandboxId))?.state === 'destroyed';
}

/** A sandbox that is used again afterwards is put to rest again in the next round, unless its time is prolonged. */
async function rest(sandboxes: Sandboxes, sandboxId: string, onTtl: 'stop' | 'hibernate'): Promise<void> {
  await (onTtl === 'stop' ? sandboxes.stop(sandboxId) : sandboxes.hibernate(sandboxId));
}
