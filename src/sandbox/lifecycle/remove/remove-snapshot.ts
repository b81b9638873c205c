import { failure } from '../../../contracts/errors.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { memoryVolumeOf, snapshotVolumeOf } from '../../engine/labels.ts';

/**
 * Removes a snapshot. The row is removed first, so that the reaper removes the volumes after a crash, or when a restore still reads them. Without a row,
 * volumes may still exist and are removed.
 */
export async function removeSnapshot({ engine, snapshots, installation, hostId }: DockerContext, snapshotId: string): Promise<void> {
  const row = await snapshots.get(snapshotId);
  if (row !== undefined && row.hostId !== hostId) throw failure('SNAPSHOT_ELSEWHERE', { snapshotId, host: row.hostId, here: hostId });
  await snapshots.remove(snapshotId);
  for (const volume of [snapshotVolumeOf(installation, snapshotId), memoryVolumeOf(installation, snapshotId)]) await engine.removeVolume(volume);
}
