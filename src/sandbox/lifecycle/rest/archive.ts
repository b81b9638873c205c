import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxArchive, SandboxRow } from '../../../store/sandbox-rows.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { hibernate } from './hibernate.ts';
import { spareNameOf } from '../../engine/labels.ts';
import { isUp } from '../../engine/is-up.ts';
import { pastCheckpoint } from '../base/past-checkpoint.ts';
import { removeBlobs } from '../remove/remove-blobs.ts';
import { removeRemade } from '../remove/remove-remade.ts';
import { endProcesses, stop } from './stop.ts';

/**
 * Packs a sandbox into the blob store and removes it from this host. It is removed only after its row names the complete archive; a wake before that keeps
 * it here. The archive includes the processes when they can be hibernated and copied; else they are ended, or the sandbox stays as it is (`otherwise`).
 */
export async function archive(context: DockerContext, sandboxId: string, otherwise: 'stop' | 'stay'): Promise<SandboxTier> {
  return untilSettled(sandboxId, async () => {
    const row = await ownRow(context, sandboxId);
    switch (row.state) {
      case 'destroyed':
        throw failure('SANDBOX_DESTROYED', { sandboxId });
      case 'running':
      case 'frozen': {
        const tier = await hibernate(context, sandboxId, otherwise);
        return tier === 'hibernated' || tier === 'stopped' ? undefined : tier;
      }
      case 'hibernated': {
        const container = await pastCheckpoint(context, row);
        if (container?.status === 'hibernated' && (await canCopyMemory(context))) return pack(context, row, container);
        if (otherwise === 'stay') return 'hibernated';
        await stop(context, sandboxId);
        return undefined;
      }
      case 'stopped':
        return packStopped(context, row);
      default:
        return tierOfState(row.state);
    }
  });
}

/** Undefined when it still had processes, which are ended first. */
async function packStopped(context: DockerContext, row: SandboxRow): Promise<SandboxTier | undefined> {
  const container = await context.engine.inspect(row.containerName);
  if (!isUp(container)) return pack(context, row, container);
  await endProcesses(context, row);
  return undefined;
}

async function pack(context: DockerContext, row: SandboxRow, container: ContainerState | undefined): Promise<SandboxTier> {
  const { engine, connections, log } = context;
  const { sandboxId, volumeName } = row;
  if (!(await engine.volumeExists(volumeName))) return tierOfState(row.state);
  const packed = await putParts(context, row, container).catch(async (error: unknown) => {
    await removeRemade(context, row);
    throw error;
  });
  const archived = await toArchived(context, row, { container, packed });
  if (archived === undefined) {
    await removeBlobs(context, packed);
    await removeRemade(context, row);
    return tierOfState((await ownRow(context, sandboxId)).state);
  }
  connections.close(sandboxId, failure('SANDBOX_LOST', { sandboxId, problem: 'it was archived' }));
  if (container !== undefined) await engine.removeContainer(container.id);
  await engine.removeContainer(spareNameOf(row.containerName));
  await engine.removeVolume(volumeName);
  log.info({ sandboxId, bytes: packed.files.bytes + (packed.memory?.bytes ?? 0), memory: packed.memory !== undefined }, 'sandbox archived');
  return 'archived';
}

/** Sets the row to `archived`; undefined when the sandbox was changed meanwhile. */
async function toArchived(
  context: DockerContext,
  { sandboxId, containerName, generation }: SandboxRow,
  { container, packed }: { container: ContainerState | undefined; packed: SandboxArchive },
): Promise<SandboxRow | undefined> {
  const { engine, rows } = context;
  try {
    const now = await engine.inspect(containerName);
    const isResting = now?.id === container?.id && now?.status === container?.status;
    return isResting ? await rows.change(sandboxId, generation, { state: 'archived', archive: packed }) : undefined;
  } catch (error) {
    // The answer of the database may be lost, and the row may name the archive. When the row cannot be read, the archive is left to the reaper of blobs.
    if ((await rows.get(sandboxId))?.generation === generation) await removeBlobs(context, packed);
    throw error;
  }
}

async function putParts(context: DockerContext, { state, volumeName }: SandboxRow, container: ContainerState | undefined): Promise<SandboxArchive> {
  const { blobs } = context;
  const jobs = jobsOf(context);
  const files = await blobs.put(jobs.pack({ volume: volumeName }));
  if (state !== 'hibernated' || container?.checkpoint === undefined) return { files };
  try {
    return { files, memory: await blobs.put(jobs.pack({ container: container.id, checkpoint: container.checkpoint })) };
  } catch (error) {
    await removeBlobs(context, { files });
    throw error;
  }
}
