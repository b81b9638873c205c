import { containerNameOf, volumeNameOf } from '../../engine/labels.ts';
import { removeBackup, removeBlobs } from './remove-blobs.ts';
import { removeSnapshot } from './remove-snapshot.ts';
import { untilSettled, type DockerContext } from '../base/docker-context.ts';
import { rowHere } from '../base/take-over.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { removeContents } from './remove-contents.ts';

/**
 * Removes container, volume, archive, backup and the snapshots without a name. The row stays and is `destroyed`. The row is set first, so that the reaper finishes
 * the removal after a crash. What a lost host has of the sandbox is removed when that host comes back. `expiresAt`: nothing is done if it expires at another time.
 */
export async function destroy(context: DockerContext, sandboxId: string, { expiresAt }: { expiresAt?: string } = {}): Promise<void> {
  const { rows, connections, installation, log } = context;
  const row = await untilSettled<SandboxRow | 'none' | 'prolonged'>(sandboxId, async () => {
    try {
      const row = (await rowHere(context, sandboxId, { expiresAt }))?.row;
      if (row === undefined) return undefined;
      if (row.state === 'destroyed') return row;
      if (expiresAt !== undefined && row.expiresAt !== expiresAt) return 'prolonged';
      return (await rows.change(sandboxId, row.generation, { state: 'destroyed', ifExpired: expiresAt !== undefined })) && row;
    } catch (error) {
      // A sandbox without a row may still have a container or a volume of an open that crashed.
      if (isFailure(error, 'SANDBOX_NOT_FOUND')) return 'none';
      throw error;
    }
  });
  if (row === 'prolonged') return;
  connections.close(sandboxId, failure('SANDBOX_DESTROYED', { sandboxId }));
  await removeContents(context, {
    sandboxId,
    containerName: containerNameOf(installation, sandboxId),
    volumeName: row === 'none' ? volumeNameOf(installation, sandboxId) : row.volumeName,
    ...(row !== 'none' && { fence: row.fence, ...(row.containerId !== undefined && { containerId: row.containerId }) }),
  });
  if (row !== 'none' && row.archive !== undefined) await removeBlobs(context, row.archive);
  if (row !== 'none') await removeBackup(context, (await context.backups.drop(sandboxId)) ?? { parts: [] });
  await removeUnnamedSnapshots(context, sandboxId);
  log.info({ sandboxId }, 'sandbox destroyed');
}

/** Snapshots with a name belong to the tenant; unfinished ones to the caller that makes them. */
async function removeUnnamedSnapshots(context: DockerContext, sandboxId: string): Promise<void> {
  for (const { snapshotId, name, ready } of await context.snapshots.list({ sandboxId })) {
    if (name === undefined && ready) await removeSnapshot(context, snapshotId);
  }
}
