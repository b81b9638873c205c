import { failure } from '../../../contracts/errors.ts';
import type { StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { SandboxChange, SandboxRow } from '../../../store/sandbox-rows.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import type { ContainerSpec, CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { discard, layOut, type LaidOut } from '../make/lay-out.ts';
import { unpackBlob } from '../make/unpack-blob.ts';
import { removeBlobs } from '../remove/remove-blobs.ts';

/**
 * Unpacks an archived sandbox on this host. It is then `hibernated` when its processes were restored to a checkpoint here, `lost` when they could not be, and
 * `stopped` when the archive has none. The archive is removed only after the row has changed. Returns why the processes are lost, if they are.
 * @throws ARCHIVE_DAMAGED when a digest differs from the stored one; nothing is changed then
 */
export async function unarchive(context: DockerContext, row: SandboxRow, specOf: (row: SandboxRow) => Promise<ContainerSpec>): Promise<string | undefined> {
  const { rows, hostId, log } = context;
  const { sandboxId, archive } = row;
  if (archive === undefined) throw failure('INTERNAL', { problem: `sandbox ${sandboxId} has no archive` });
  await removeLeftover(context, row);
  const { files, memory } = archive;
  const takesMemory = memory !== undefined && (await canCopyMemory(context));
  const fence = await rows.drawFence();
  const next = { ...row, fence };
  const parts = {
    files: (to: CopyPlace) => bringBack(context, sandboxId, files, to),
    ...(takesMemory && {
      memory: { specOf: (volumeName: string) => specOf({ ...next, volumeName }), copyTo: (to: CopyPlace) => bringBack(context, sandboxId, memory, to) },
    }),
  };
  const laidOut = await layOut(context, next, parts).catch(async (error: unknown) => {
    // When the row has changed, another caller has unpacked the sandbox meanwhile and removed the archive.
    if ((await rows.get(sandboxId))?.generation === row.generation) throw error;
  });
  if (laidOut === undefined) return undefined;
  const change = { ...changeTo(laidOut, memory !== undefined), fence, hostId, volumeName: laidOut.volumeName };
  const changed = await rows.change(sandboxId, row.generation, change).catch(async (error: unknown) => {
    if ((await rows.get(sandboxId))?.generation === row.generation) await discard(context, laidOut);
    throw error;
  });
  if (changed === undefined) {
    await discard(context, laidOut);
    return undefined;
  }
  await removeBlobs(context, archive);
  log.info({ sandboxId, state: change.state }, 'sandbox brought back from its archive');
  return change.lost;
}

function changeTo({ containerId, problem = 'this host cannot wake them' }: LaidOut, hasMemory: boolean): Pick<SandboxChange, 'state' | 'containerId' | 'lost'> {
  if (containerId !== undefined) return { state: 'hibernated', containerId };
  return hasMemory ? { state: 'lost', lost: `it was archived with its processes, and ${problem}` } : { state: 'stopped' };
}

/** Removes the container that a crash has left here after its sandbox was archived: it uses the old volume. */
async function removeLeftover({ engine, rows }: DockerContext, { sandboxId, containerName, generation }: SandboxRow): Promise<void> {
  const leftover = await engine.inspect(containerName);
  // While the row is still archived, no caller has made a new container with that name.
  if (leftover === undefined || (await rows.get(sandboxId))?.generation !== generation) return;
  await engine.removeContainer(leftover.id);
}

/** Unpacks one part of a sandbox's archive. @throws ARCHIVE_DAMAGED */
export function bringBack(context: DockerContext, sandboxId: string, blob: StoredBlob, to: CopyPlace): Promise<void> {
  return unpackBlob(context, blob, to, (problem) => failure('ARCHIVE_DAMAGED', { sandboxId, problem, blobId: blob.blobId }));
}
