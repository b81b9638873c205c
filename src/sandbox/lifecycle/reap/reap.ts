import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkTier } from '../base/check-tier.ts';
import { isSuperseded } from '../base/current.ts';
import type { DockerContext } from '../base/docker-context.ts';
import type { OwnedThing } from '../../engine/engine.ts';
import { HOLDER_ROLE } from '../base/holder.ts';
import { endPromises } from '../room/with-memory.ts';
import { drainPools } from '../pool/drain-pools.ts';
import { reapBlobs } from './reap-blobs.ts';
import { reapSnapshots } from './reap-snapshots.ts';

export interface Reaped {
  removedContainers: string[];
  removedVolumes: string[];
  lost: string[];
}

/** A copy may take this long before a row names it, and a wake before its processes run, in multiples of the grace: an hour by default. */
const COPY_GRACES = 60;
/** The same for a container that does the copying and does not run: it is started within seconds, and the engine removes it when it ends. */
const JOB_GRACES = 5;

/**
 * Removes orphans and corrects rows. Removes this installation's containers and volumes that no row of a sandbox or snapshot owns, blobs that no
 * sandbox names, expired snapshots without a name, and warm sandboxes that no worker keeps. Sets sandboxes of this host to `lost` when their container has
 * ended. Orphans younger than the grace stay; what a newer container has superseded, here or on another host, is removed at once.
 */
export async function reap(context: DockerContext): Promise<Reaped> {
  const { engine, rows, roomQueue, installation, hostId, reapGraceMs, log } = context;
  await reapSnapshots(context, reapGraceMs * COPY_GRACES);
  await reapBlobs(context);
  await drainPools(context);
  await endPromises(context, reapGraceMs * COPY_GRACES);
  await roomQueue.forget();
  const containers = await engine.containersOf(installation);
  const holderStays = containers.some(({ joins }) => joins);
  const removable = containers.filter(({ role }) => role !== HOLDER_ROLE || !holderStays);
  const volumes = await engine.volumesOf(installation);
  const copies = [...containers, ...volumes].filter(({ role }) => role === 'copy').map(({ name }) => name);
  const ages = await context.fleet.agesOfCopies(hostId, copies);
  // By id: a newer container may have its name by now.
  const removedContainers = await removeOrphans(context, removable, ages, async ({ id, name }) => {
    await engine.removeContainer(id ?? name);
    return true;
  });
  await removePages(
    context,
    containers.filter(({ joins }) => joins),
  );
  const removedVolumes = await removeOrphans(context, volumes, ages, ({ name }) => engine.removeVolume(name));
  const lost: string[] = [];
  for (const row of await rows.list({ hostId, states: ['running', 'frozen', 'hibernated'] })) {
    if ((await checkTier(context, row.sandboxId)) === 'lost') lost.push(row.sandboxId);
  }
  const reaped = { removedContainers, removedVolumes, lost };
  if (removedContainers.length + removedVolumes.length + lost.length > 0) log.warn(reaped, 'sandboxes reaped');
  return reaped;
}

type Ages = ReadonlyMap<string, number>;

async function removeOrphans(context: DockerContext, things: OwnedThing[], ages: Ages, remove: (thing: OwnedThing) => Promise<boolean>): Promise<string[]> {
  const removed: string[] = [];
  for (const thing of things) {
    const { name } = thing;
    if (!(await isOrphan(context, thing, ages))) continue;
    try {
      if (await remove(thing)) removed.push(name);
    } catch (error) {
      // One orphan that cannot be removed must not prevent the removal of the others; the next round tries again.
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      context.log.warn({ name, err: error }, 'an orphan could not be removed');
    }
  }
  return removed;
}

/** Removes memory pages that gVisor sandboxes do not need: a worker died while it removed a checkpoint, or a checkpoint failed. */
async function removePages({ engine: { checkpoints }, log }: DockerContext, containers: OwnedThing[]): Promise<void> {
  if (checkpoints === undefined) return;
  for (const { name } of containers) {
    try {
      await checkpoints.removeLoosePages(name);
    } catch (error) {
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      log.warn({ name, err: error }, 'unused checkpoints could not be removed');
    }
  }
}

async function isOrphan({ rows, snapshots, hostId, reapGraceMs }: DockerContext, thing: OwnedThing, ages: Ages): Promise<boolean> {
  const { sandboxId, snapshotId, createdAtMs } = thing;
  const row = sandboxId === '' || snapshotId !== undefined ? undefined : await rows.get(sandboxId);
  if (row !== undefined && isSuperseded(thing, row, hostId)) return true;
  if (Date.now() - createdAtMs < reapGraceMs) return false;
  if (snapshotId !== undefined) return (await snapshots.get(snapshotId)) === undefined;
  if (row?.state === 'destroyed') return true;
  return isRipe(thing, reapGraceMs, ages) && (row === undefined || row.state === 'archived' || isPast(thing, row, hostId));
}

/** A copy makes its volumes and containers before the row names them. The clocks of engine and worker may be set while it works, so they do not count here. */
function isRipe({ name, role, sandboxId, isRunning }: OwnedThing, reapGraceMs: number, ages: Ages): boolean {
  const graces = sandboxId === '' && isRunning === false ? JOB_GRACES : COPY_GRACES;
  return role !== 'copy' || (ages.get(name) ?? 0) >= reapGraceMs * graces;
}

/** Whether the sandbox uses another container and volume now: this one was left when the sandbox was archived, or belongs to a layout that was not used. */
function isPast({ id, name, role }: OwnedThing, row: SandboxRow, hostId: string): boolean {
  // These have the names that belong to the sandbox; the row may record them a moment later.
  if (row.hostId === hostId && role !== 'copy') return false;
  return id === undefined ? name !== row.volumeName : id !== row.containerId && row.containerId !== undefined;
}
