import { failure, isFailure } from '../../../contracts/errors.ts';
import type { StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { SnapshotRow } from '../../../store/sandbox-rows.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { unpackBlob } from './unpack-blob.ts';

/** How the parts of a snapshot are brought to where a sandbox is made of them. */
export interface SnapshotParts {
  files: (to: CopyPlace) => Promise<void>;
  /** Absent when it has no processes. */
  memory?: (to: CopyPlace) => Promise<void>;
}

/**
 * A snapshot is read from its volumes on the host that has them, and from the blob store on all others, or when that host has lost them. Undefined when it is in
 * neither of the two.
 */
export async function partsOfSnapshot(context: DockerContext, snapshot: SnapshotRow): Promise<SnapshotParts | undefined> {
  const { hostId, volumeName, memoryVolume, stored } = snapshot;
  if (hostId === context.hostId && (stored === undefined || (await context.engine.volumeExists(volumeName)))) {
    const copy = (volume: string) => (to: CopyPlace) => copyVolume(context, snapshot, volume, to);
    return { files: copy(volumeName), ...(memoryVolume !== undefined && { memory: copy(memoryVolume) }) };
  }
  if (stored === undefined) return undefined;
  const unpack = (blob: StoredBlob) => (to: CopyPlace) => unpackPart(context, snapshot, blob, to);
  return { files: unpack(stored.files), ...(stored.memory && { memory: unpack(stored.memory) }) };
}

/** The engine makes a volume that was removed again, without files, for a job that begins to read it. @throws SNAPSHOT_NOT_FOUND when it was removed meanwhile */
async function copyVolume(context: DockerContext, { snapshotId }: SnapshotRow, volume: string, to: CopyPlace): Promise<void> {
  await jobsOf(context).copy({ volume }, to);
  // Its row is removed first.
  if ((await context.snapshots.get(snapshotId)) !== undefined) return;
  await context.engine.removeVolume(volume);
  throw failure('SNAPSHOT_NOT_FOUND', { snapshotId });
}

/** @throws SNAPSHOT_DAMAGED; SNAPSHOT_NOT_FOUND when it was removed meanwhile */
async function unpackPart(context: DockerContext, { snapshotId }: SnapshotRow, blob: StoredBlob, to: CopyPlace): Promise<void> {
  try {
    await unpackBlob(context, blob, to, (problem) => failure('SNAPSHOT_DAMAGED', { snapshotId, problem, blobId: blob.blobId }));
  } catch (error) {
    if (isFailure(error, 'SNAPSHOT_DAMAGED') && (await context.snapshots.get(snapshotId)) === undefined)
      throw failure('SNAPSHOT_NOT_FOUND', { snapshotId }, error);
    throw error;
  }
}
