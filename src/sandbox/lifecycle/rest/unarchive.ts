import { Readable } from 'node:stream';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { Meter, type StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { SandboxChange, SandboxRow } from '../../../store/sandbox-rows.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import type { ContainerSpec, CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import { discard, layOut, type LaidOut } from '../make/lay-out.ts';
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
export async function bringBack(context: DockerContext, sandboxId: string, { blobId, sha256 }: StoredBlob, to: CopyPlace): Promise<void> {
  const { blobs } = context;
  const meter = new Meter();
  const damaged = (problem: string) => failure('ARCHIVE_DAMAGED', { sandboxId, problem, blobId });
  const content = Readable.from(meter.through(blobs.get(blobId)), { objectMode: false });
  try {
    await jobsOf(context).unpack(content, to);
  } catch (error) {
    if (isFailure(error, 'BLOB_NOT_FOUND')) throw damaged('it is not in the blob store');
    // A damaged archive may also fail to unpack; its digest tells the reason better.
    if (isFailure(error, 'DOCKER_FAILED') && (await digestOf(blobs.get(blobId))) !== sha256) throw damaged('its digest does not match');
    throw error;
  }
  if (meter.sha256() !== sha256) throw damaged('its digest does not match');
}

async function digestOf(content: AsyncIterable<Buffer>): Promise<string> {
  const meter = new Meter();
  for await (const _chunk of meter.through(content));
  return meter.sha256();
}
