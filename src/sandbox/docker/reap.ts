import { isFailure } from '../../contracts/errors.ts';
import { checkTier } from './check-tier.ts';
import type { DockerContext } from './context.ts';
import type { OwnedThing } from './engine.ts';
import { HOLDER_ROLE } from './holder.ts';
import { drainPools } from './pool/drain-pools.ts';

export interface Reaped {
  removedContainers: string[];
  removedVolumes: string[];
  lost: string[];
}

/**
 * Brings engine and rows together: removes this installation's containers and volumes whose sandbox has no row or a destroyed one,
 * and marks sandboxes of this host as lost whose container has died. Things younger than the grace are left alone.
 */
export async function reap(context: DockerContext): Promise<Reaped> {
  const { engine, rows, installation, hostId, log } = context;
  await drainPools(context);
  const containers = await engine.containersOf(installation);
  const holderStays = containers.some(({ joins }) => joins);
  const removable = containers.filter(({ role }) => role !== HOLDER_ROLE || !holderStays);
  const removedContainers = await removeOrphans(context, removable, async (name) => {
    await engine.removeContainer(name);
    return true;
  });
  const removedVolumes = await removeOrphans(context, await engine.volumesOf(installation), (name) => engine.removeVolume(name));
  const lost: string[] = [];
  for (const row of await rows.list({ hostId, states: ['running', 'frozen', 'hibernated'] })) {
    if ((await checkTier(context, row.sandboxId)) === 'lost') lost.push(row.sandboxId);
  }
  const reaped = { removedContainers, removedVolumes, lost };
  if (removedContainers.length + removedVolumes.length + lost.length > 0) log.warn(reaped, 'sandboxes reaped');
  return reaped;
}

async function removeOrphans({ rows, reapGraceMs, log }: DockerContext, things: OwnedThing[], remove: (name: string) => Promise<boolean>): Promise<string[]> {
  const removed: string[] = [];
  for (const { name, sandboxId, createdAtMs } of things) {
    if (Date.now() - createdAtMs < reapGraceMs) continue;
    const row = sandboxId === '' ? undefined : await rows.get(sandboxId);
    if (row !== undefined && row.state !== 'destroyed') continue;
    try {
      if (await remove(name)) removed.push(name);
    } catch (error) {
      // One thing that cannot be removed must not keep the rest; the next round tries again.
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      log.warn({ name, err: error }, 'an orphan could not be removed');
    }
  }
  return removed;
}
