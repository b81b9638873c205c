import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkTier } from '../base/check-tier.ts';
import type { DockerContext } from '../base/context.ts';
import type { OwnedThing } from '../../engine/engine.ts';
import { HOLDER_ROLE } from '../base/holder.ts';
import { drainPools } from '../pool/drain-pools.ts';
import { reapBlobs } from './reap-blobs.ts';
import { reapSnapshots } from './reap-snapshots.ts';

export interface Reaped {
  removedContainers: string[];
  removedVolumes: string[];
  lost: string[];
}

/** A copy may take as long before a row says whose it is, in graces: an hour. */
const COPY_GRACES = 60;

/**
 * Brings engine and rows together: removes this installation's containers, volumes and blobs whose sandbox or snapshot has no row or a destroyed one,
 * removes snapshots without a name that are too old, and marks sandboxes of this host as lost whose container has died. Things younger than the grace
 * are left alone.
 */
export async function reap(context: DockerContext): Promise<Reaped> {
  const { engine, rows, installation, hostId, reapGraceMs, log } = context;
  await reapSnapshots(context, reapGraceMs * COPY_GRACES);
  await reapBlobs(context);
  await drainPools(context);
  const containers = await engine.containersOf(installation);
  const holderStays = containers.some(({ joins }) => joins);
  const removable = containers.filter(({ role }) => role !== HOLDER_ROLE || !holderStays);
  const removedContainers = await removeOrphans(context, removable, async (name) => {
    await engine.removeContainer(name);
    return true;
  });
  await removePages(
    context,
    containers.filter(({ joins }) => joins),
  );
  const removedVolumes = await removeOrphans(context, await engine.volumesOf(installation), (name) => engine.removeVolume(name));
  const lost: string[] = [];
  for (const row of await rows.list({ hostId, states: ['running', 'frozen', 'hibernated'] })) {
    if ((await checkTier(context, row.sandboxId)) === 'lost') lost.push(row.sandboxId);
  }
  const reaped = { removedContainers, removedVolumes, lost };
  if (removedContainers.length + removedVolumes.length + lost.length > 0) log.warn(reaped, 'sandboxes reaped');
  return reaped;
}

async function removeOrphans(context: DockerContext, things: OwnedThing[], remove: (name: string) => Promise<boolean>): Promise<string[]> {
  const removed: string[] = [];
  for (const thing of things) {
    const { name } = thing;
    if (!(await isOrphan(context, thing))) continue;
    try {
      if (await remove(name)) removed.push(name);
    } catch (error) {
      // One thing that cannot be removed must not keep the rest; the next round tries again.
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      context.log.warn({ name, err: error }, 'an orphan could not be removed');
    }
  }
  return removed;
}

/** Of gVisor sandboxes whose checkpoint was removed, or failed, by a worker that died before it had removed all. */
async function removePages({ engine, log }: DockerContext, containers: OwnedThing[]): Promise<void> {
  for (const { name } of containers) {
    try {
      await engine.removeLoosePages(name);
    } catch (error) {
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      log.warn({ name, err: error }, 'memory on disk that nobody needs could not be removed');
    }
  }
}

async function isOrphan({ rows, snapshots, hostId, reapGraceMs }: DockerContext, thing: OwnedThing): Promise<boolean> {
  const { sandboxId, snapshotId, role, createdAtMs } = thing;
  const ageMs = Date.now() - createdAtMs;
  if (ageMs < reapGraceMs) return false;
  // What a copy makes is there before the row that it belongs to.
  const isRipe = role !== 'copy' || ageMs >= reapGraceMs * COPY_GRACES;
  if (snapshotId !== undefined) return (await snapshots.get(snapshotId)) === undefined;
  const row = sandboxId === '' ? undefined : await rows.get(sandboxId);
  if (row === undefined || row.state === 'archived') return isRipe;
  if (row.state === 'destroyed') return true;
  return isRipe && isPast(thing, row, hostId);
}

/** Whether it was archived here, or laid out in vain, and the sandbox is another container on another volume by now. */
function isPast({ id, name, role }: OwnedThing, row: SandboxRow, hostId: string): boolean {
  // Others get their names from the sandbox, and their rows a moment later.
  if (row.hostId === hostId && role !== 'copy') return false;
  return id === undefined ? name !== row.volumeName : id !== row.containerId && row.containerId !== undefined;
}
