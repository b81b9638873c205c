import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** Removes the volume that a job has read, if the sandbox has it no more: the engine makes a removed volume again for a job that begins to read it, and the reaper does not know that one. */
export async function removeRemade({ engine, rows, hostId }: DockerContext, { sandboxId, volumeName }: SandboxRow): Promise<void> {
  const now = await rows.get(sandboxId);
  const isUsed = now?.volumeName === volumeName && now.hostId === hostId && now.state !== 'archived' && now.state !== 'destroyed';
  if (!isUsed) await engine.removeVolume(volumeName);
}
