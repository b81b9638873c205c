import { isFailure } from '../contracts/errors.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Sandboxes } from './sandbox.ts';

/** Destroys the sandboxes whose time to live is over and that this host can reach; returns their ids. One that cannot be destroyed now is left to the next round. */
export async function destroyExpired({ store, sandboxes, log }: { store: Pick<Store, 'sandboxes'>; sandboxes: Sandboxes; log: Logger }): Promise<string[]> {
  const destroyed: string[] = [];
  for (const { sandboxId } of await store.sandboxes.listExpired()) {
    try {
      await sandboxes.destroy(sandboxId);
      destroyed.push(sandboxId);
    } catch (error) {
      // That of another host is destroyed there.
      if (!isFailure(error, 'SANDBOX_UNREACHABLE')) log.warn({ sandboxId, err: error }, 'a sandbox whose time is over could not be destroyed');
    }
  }
  if (destroyed.length > 0) log.info({ destroyed }, 'sandboxes whose time was over were destroyed');
  return destroyed;
}
