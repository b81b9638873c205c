import { containerNameOf, volumeNameOf } from '../../engine/labels.ts';
import { removeBlobs } from './remove-blobs.ts';
import { removeSnapshot } from './remove-snapshot.ts';
import { ownRow, untilSettled, type DockerContext } from '../base/context.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { removeContents } from './remove-contents.ts';

/** Removes container, volume, archive and the snapshots without a name; the row stays and says `destroyed`. The row is set first, so that the reaper finishes what a crash cuts off. */
export async function destroy(context: DockerContext, sandboxId: string): Promise<void> {
  const { rows, connections, installation, log } = context;
  const row = await untilSettled<SandboxRow | 'none'>(sandboxId, async () => {
    try {
      const row = await ownRow(context, sandboxId);
      if (row.state === 'destroyed') return row;
      return (await rows.change(sandboxId, row.generation, { state: 'destroyed' })) && row;
    } catch (error) {
      // What was never opened has nothing to remove but what a crashed opener may have left.
      if (isFailure(error, 'SANDBOX_NOT_FOUND')) return 'none';
      throw error;
    }
  });
  connections.close(sandboxId, failure('SANDBOX_DESTROYED', { sandboxId }));
  await removeContents(context, {
    sandboxId,
    containerName: containerNameOf(installation, sandboxId),
    volumeName: row === 'none' ? volumeNameOf(installation, sandboxId) : row.volumeName,
    ...(row !== 'none' && row.containerId !== undefined && { containerId: row.containerId }),
  });
  if (row !== 'none' && row.archive !== undefined) await removeBlobs(context, row.archive);
  await removeUnnamedSnapshots(context, sandboxId);
  log.info({ sandboxId }, 'sandbox destroyed');
}

/** Those with a name belong to the tenant; unfinished ones to whoever makes them; those of other hosts to the reaper there. */
async function removeUnnamedSnapshots(context: DockerContext, sandboxId: string): Promise<void> {
  for (const { snapshotId, name, ready, hostId } of await context.snapshots.list({ sandboxId })) {
    if (name === undefined && ready && hostId === context.hostId) await removeSnapshot(context, snapshotId);
  }
}
