import type { DockerContext } from '../base/docker-context.ts';
import { memoryVolumeOf, snapshotVolumeOf } from '../../engine/labels.ts';
import { removeBlobs } from './remove-blobs.ts';

/**
 * Removes a snapshot. The row is removed first, so that the reapers remove the rest after a crash, or when a restore still reads it; also the volumes of one that was
 * made on another host. Without a row, volumes may still exist and are removed.
 */
export async function removeSnapshot(context: DockerContext, snapshotId: string): Promise<void> {
  const { engine, snapshots, installation } = context;
  const removed = await snapshots.remove(snapshotId);
  for (const volume of [snapshotVolumeOf(installation, snapshotId), memoryVolumeOf(installation, snapshotId)]) await engine.removeVolume(volume);
  if (removed?.stored) await removeBlobs(context, removed.stored);
}
