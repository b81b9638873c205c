import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { Store } from '../../src/store/store.ts';

/**
 * Ends every sandbox and snapshot that the rows tell of, as the worker of its host would, and what is left of those that were torn. Nothing is removed
 * behind the back of the rows: what this leaves on the engine or in the database was forgotten by the product, and the census reports it.
 */
export async function endSandboxes(store: Pick<Store, 'sandboxes' | 'snapshots'>, workerOf: (hostId: string) => Sandboxes | Promise<Sandboxes>): Promise<void> {
  const snapshots = await store.snapshots.list({});
  const rows = await store.sandboxes.list({});
  for (const hostId of new Set([...rows, ...snapshots].map((row) => row.hostId))) {
    await using worker = await workerOf(hostId);
    for (const row of rows) if (row.hostId === hostId && row.state !== 'destroyed') await worker.destroy(row.sandboxId);
    for (const row of snapshots) if (row.hostId === hostId) await worker.removeSnapshot(row.snapshotId);
    // Also finishes what the end of a worker has cut off.
    await worker.reap();
  }
}
