import { failure } from '../../../contracts/errors.ts';
import type { DockerContext } from '../base/context.ts';
import { memoryVolumeOf, snapshotVolumeOf } from '../../engine/labels.ts';

/**
 * Removes a snapshot. The row goes first, so that the reaper finishes what a crash cuts off, or a restore that reads it keeps from being removed. Where the
 * row is gone already, its volumes may still be there.
 */
export async function removeSnapshot({ engine, snapshots, installation, hostId }: DockerContext, snapshotId: string): Promise<void> {
  const row = await snapshots.get(snapshotId);
  if (row !== undefined && row.hostId !== hostId) throw failure('SNAPSHOT_ELSEWHERE', { snapshotId, host: row.hostId, here: hostId });
  await snapshots.remove(snapshotId);
  for (const volume of [snapshotVolumeOf(installation, snapshotId), memoryVolumeOf(installation, snapshotId)]) await engine.removeVolume(volume);
}
