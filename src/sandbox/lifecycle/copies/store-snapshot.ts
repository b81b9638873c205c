import { addAbortSignal } from 'node:stream';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxArchive, SnapshotRow } from '../../../store/sandbox-rows.ts';
import type { SnapshotInfo } from '../../api/snapshots.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { removeBlobs } from '../remove/remove-blobs.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';
import { snapshot, toInfo } from './snapshot.ts';

const KEEP_EVERY_MS = 20_000;

/** Puts the snapshots of this host into the blob store that are not there yet, if another host may need them. What fails is tried again a minute later. */
export async function storeSnapshots(context: DockerContext, signal: AbortSignal): Promise<void> {
  const { snapshots, hostId, log } = context;
  const unstored = await snapshots.unstored(hostId);
  if (unstored.length === 0 || !(await hasOtherHosts(context))) return;
  for (const { snapshotId } of unstored) {
    if (signal.aborted) return;
    await storeSnapshot(context, snapshotId, signal).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ snapshotId, err: error }, 'a snapshot could not be put into the blob store; this is tried again');
    });
  }
}

/** Copies a sandbox, and stores the copy when others may change the sandbox again. */
export async function snapshotAndStore(context: DockerContext, sandboxId: string, options: { name?: string }): Promise<SnapshotInfo> {
  const made = await context.inTurn(sandboxId, () => snapshot(context, sandboxId, options));
  await storeNew(context, made.snapshotId);
  return toInfo((await context.snapshots.get(made.snapshotId)) ?? made);
}

/** The snapshot is complete without that: a worker of this host tries again. */
async function storeNew(context: DockerContext, snapshotId: string): Promise<void> {
  try {
    if (await hasOtherHosts(context)) await storeSnapshot(context, snapshotId);
  } catch (error) {
    context.log.warn({ snapshotId, err: error }, 'a new snapshot could not be put into the blob store; a worker of its host tries it again');
  }
}

/** Also such as are silent now, or being drained. */
async function hasOtherHosts({ fleet, hostId, lostAfterMs }: DockerContext): Promise<boolean> {
  return (await fleet.hosts(lostAfterMs)).some((host) => host.hostId !== hostId);
}

/** The row names the blobs when they are complete. Does nothing while another caller stores it. */
async function storeSnapshot(context: DockerContext, snapshotId: string, signal?: AbortSignal): Promise<void> {
  const { snapshots, log } = context;
  const row = await snapshots.beginStoring(snapshotId);
  if (row === undefined) return;
  const keeping = setInterval(() => {
    snapshots.keepStoring(snapshotId).catch((error: unknown) => log.debug({ snapshotId, err: error }, 'it could not be said that a snapshot is being stored'));
  }, KEEP_EVERY_MS);
  try {
    const stored = await putParts(context, row, signal);
    if (await isNamed(context, snapshotId, stored)) {
      log.info({ snapshotId, bytes: stored.files.bytes + (stored.memory?.bytes ?? 0) }, 'snapshot put into the blob store');
      return;
    }
    await removeBlobs(context, stored);
  } finally {
    clearInterval(keeping);
  }
  // The engine makes a volume again for a job that begins to read it when it is removed.
  if ((await snapshots.get(snapshotId)) === undefined) await removeSnapshot(context, snapshotId);
}

async function putParts(context: DockerContext, { snapshotId, volumeName, memoryVolume }: SnapshotRow, signal?: AbortSignal): Promise<SandboxArchive> {
  const { engine, blobs } = context;
  const put = async (volume: string) => {
    if (!(await engine.volumeExists(volume)))
      throw failure('DOCKER_FAILED', { action: `store snapshot ${snapshotId}`, problem: `there is no volume ${volume}` });
    const packed = jobsOf(context).pack({ volume });
    return blobs.put(signal ? addAbortSignal(signal, packed) : packed);
  };
  const files = await put(volumeName);
  if (memoryVolume === undefined) return { files };
  try {
    return { files, memory: await put(memoryVolume) };
  } catch (error) {
    await removeBlobs(context, { files });
    throw error;
  }
}

/** When the answer of the database is lost, the row may say that it names the blobs. Otherwise they are left to the reaper: the row may name them a moment later. */
async function isNamed({ snapshots }: DockerContext, snapshotId: string, stored: SandboxArchive): Promise<boolean> {
  try {
    return await snapshots.store(snapshotId, stored);
  } catch (error) {
    if ((await snapshots.get(snapshotId))?.stored?.files.blobId === stored.files.blobId) return true;
    throw error;
  }
}
