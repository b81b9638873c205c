import { failure } from '../../../contracts/errors.ts';
import type { SnapshotRow } from '../../../store/sandbox-rows.ts';
import type { Store } from '../../../store/store.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import { containerSpecOf } from '../make/new-container.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import type { DockerContext } from '../base/docker-context.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import { containerNameOf } from '../../engine/labels.ts';
import { fitsHere } from '../base/fits-here.ts';
import { sendAway } from '../room/send-away.ts';
import { checkDisk } from '../room/wait-for-disk.ts';
import { discard, layOut, type LaidOut, type Parts } from '../make/lay-out.ts';
import { partsOfSnapshot } from '../make/parts-of-snapshot.ts';

export type NewRow = Omit<Parameters<Store['sandboxes']['ensure']>[0], 'state' | 'volumeName' | 'fence'> & { fence: number };

/** The snapshot, if it is complete and the owner's, and this host may have its sandbox. */
export async function findToRestore(context: DockerContext, snapshotId: string, owner: SandboxOwner): Promise<SnapshotRow> {
  const found = await context.snapshots.get(snapshotId);
  if (!found?.ready || found.tenantId !== owner.tenantId) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId });
  if (!(await fitsHere(context, found.options))) await sendAway(context, owner, found.options);
  await checkDisk(context, owner, found.options);
  return found;
}

/**
 * Makes a sandbox from a snapshot: `hibernated` when the processes could be restored too, else `stopped`. The row is made after all files are copied, so no
 * caller opens an incomplete sandbox.
 */
export async function restoreSnapshot(context: DockerContext, snapshot: SnapshotRow, owner: SandboxOwner): Promise<void> {
  const { hostId, log } = context;
  const { sandboxId } = owner;
  const { snapshotId, options } = snapshot;
  const parts = await partsOfSnapshot(context, snapshot);
  if (parts === undefined) throw failure('SNAPSHOT_ELSEWHERE', { snapshotId, host: snapshot.hostId, here: hostId });
  const { files, memory } = parts;
  const { containerId } = await addSandbox(context, owner, options, { files, ...(memory && (await canCopyMemory(context)) && { memory }) });
  log.info({ sandboxId, snapshotId, memory: containerId !== undefined }, 'snapshot restored');
}

/** Adds the row of a sandbox after its files are complete: `hibernated` when it has the processes, else `stopped`. The owner's id must be new. */
export async function addSandbox(
  context: DockerContext,
  owner: SandboxOwner,
  options: NewRow['options'],
  { files, memory }: { files: (to: CopyPlace) => Promise<void>; memory?: (to: CopyPlace) => Promise<void> },
): Promise<LaidOut> {
  if ((await context.rows.get(owner.sandboxId)) !== undefined) throw taken(owner.sandboxId);
  const row = await rowOfCopy(context, owner, options);
  const laidOut = await layOut(context, row, { files, ...(memory && { memory: memoryOfCopy(context, row, memory) }) });
  await addCopy(context, row, laidOut);
  return laidOut;
}

export async function rowOfCopy(
  { rows, hostId, installation }: DockerContext,
  { sandboxId, tenantId, conversationId, ttlMs }: SandboxOwner,
  options: NewRow['options'],
): Promise<NewRow> {
  return {
    sandboxId,
    tenantId,
    fence: await rows.drawFence(),
    hostId,
    options,
    containerName: containerNameOf(installation, sandboxId),
    ...(conversationId !== undefined && { conversationId }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
}

/** The processes of a copy: its checkpoint, and its container that was never started. */
export function memoryOfCopy(context: DockerContext, row: NewRow, copyTo: (to: CopyPlace) => Promise<void>): NonNullable<Parts['memory']> {
  return { specOf: (volumeName) => containerSpecOf(context, { ...row, volumeName }, 'runsc'), copyTo };
}

/** Makes the row of a copy whose parts are complete. Removes the parts when that is refused. @throws INVALID_ARGUMENT when the id is taken */
export async function addCopy(context: DockerContext, row: NewRow, laidOut: LaidOut): Promise<void> {
  try {
    await addRow(context, row, laidOut);
  } catch (error) {
    await takeBack(context, row.sandboxId, laidOut);
    throw error;
  }
}

async function addRow({ rows }: DockerContext, row: NewRow, { volumeName, containerId }: LaidOut): Promise<void> {
  const made = await rows.ensure({ ...row, state: 'stopped', volumeName });
  if (made.volumeName !== volumeName) throw taken(row.sandboxId);
  if (containerId !== undefined) await rows.change(row.sandboxId, made.generation, { state: 'hibernated', containerId });
}

/** Removes what a failed restore has made. A row that names this volume was made by this call, even when the database's answer was lost. */
async function takeBack(context: DockerContext, sandboxId: string, laidOut: LaidOut): Promise<void> {
  const { rows, log } = context;
  try {
    const row = await rows.get(sandboxId);
    if (row?.volumeName === laidOut.volumeName) await rows.withdraw(sandboxId, row.generation);
  } catch (error) {
    log.warn({ sandboxId, err: error }, 'the row of a refused restore could not be removed');
  }
  await discard(context, laidOut);
}

export function taken(sandboxId: string): Error {
  return failure('INVALID_ARGUMENT', { what: 'sandboxId', problem: `there is a sandbox "${sandboxId}" already`, fix: 'Restore into one with a new id' });
}
