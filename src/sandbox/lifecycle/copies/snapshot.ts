import { randomBytes } from 'node:crypto';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { makeId } from '../../../contracts/ids.ts';
import type { SnapshotRow } from '../../../store/sandbox-rows.ts';
import type { SnapshotInfo } from '../../api/snapshots.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { copiesOf, jobsOf } from '../base/engine-parts.ts';
import { holdStill, isStill, type Still } from './hold-still.ts';
import { LABEL, memoryVolumeOf, snapshotVolumeOf } from '../../engine/labels.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';

/** A copy is repeated when another caller wakes the sandbox during it. */
const ATTEMPTS = 5;
const SNAPSHOT_NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,99}$/u;

export async function snapshot(context: DockerContext, sandboxId: string, { name }: { name?: string }): Promise<SnapshotInfo> {
  if (name !== undefined && !SNAPSHOT_NAME.test(name)) {
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: JSON.stringify(name), fix: 'Use up to 100 letters, digits, spaces, "_", "." and "-"' });
  }
  await makeRoom(context, sandboxId);
  const made = await takeSnapshot(context, sandboxId, { ...(name !== undefined && { name }) });
  const finished = await unlessRefused(context, made.snapshotId, () => context.snapshots.finish(made.snapshotId, made.memoryVolume));
  if (finished === undefined) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId: made.snapshotId });
  context.log.info({ sandboxId, snapshotId: made.snapshotId, memory: made.memoryVolume !== undefined }, 'snapshot made');
  return toInfo(finished);
}

/** Makes a snapshot that is not listed yet. Its row is made before its volumes, so that the reaper knows their owner. */
export async function takeSnapshot(
  context: DockerContext,
  sandboxId: string,
  { name, processes = true }: { name?: string; processes?: boolean } = {},
): Promise<SnapshotRow> {
  const { snapshots, installation, hostId } = context;
  const snapshotId = makeId('snap', Date.now(), () => randomBytes(4).readUInt32BE(0) / 2 ** 32);
  const { tenantId, options } = await ownRow(context, sandboxId);
  const volumeName = snapshotVolumeOf(installation, snapshotId);
  const row = { snapshotId, sandboxId, tenantId, ...(name !== undefined && { name }), hostId, volumeName, options };
  return unlessRefused(context, snapshotId, async () => {
    const isNew = await snapshots.insert(row);
    if (!isNew)
      throw failure('INVALID_ARGUMENT', {
        what: 'name',
        problem: `the sandbox has a snapshot "${name}" already`,
        fix: 'Use another name, or remove that one first',
      });
    const memoryVolume = await copyAndWake(context, { sandboxId, snapshotId, processes });
    const made = await snapshots.get(snapshotId);
    if (made === undefined) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId });
    return { ...made, ...(memoryVolume !== undefined && { memoryVolume }) };
  });
}

/** Removes the snapshot when a step of it fails. */
async function unlessRefused<T>(context: DockerContext, snapshotId: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    await cleanUp(() => removeSnapshot(context, snapshotId), { log: context.log, what: 'half a snapshot', snapshotId });
    throw error;
  }
}

interface Copied {
  sandboxId: string;
  snapshotId: string;
  processes: boolean;
}

/** A sandbox that ran before any of the attempts was frozen by this copy; another copy at the same time may have woken it in between. */
async function copyAndWake(context: DockerContext, copied: Copied): Promise<string | undefined> {
  const { sandboxId } = copied;
  let wasRunning = false;
  try {
    return await copySandbox(context, copied, () => (wasRunning = true));
  } finally {
    const row = await context.rows.get(sandboxId);
    if (wasRunning && row?.state === 'frozen') await bringUpSandbox(context, sandboxId, 'wake');
  }
}

/** Copies files and memory of the same moment. Returns the volume with the memory, if the memory could be copied. */
async function copySandbox(context: DockerContext, { sandboxId, snapshotId, processes }: Copied, onRunning: () => void): Promise<string | undefined> {
  const { engine, installation } = context;
  const volume = snapshotVolumeOf(installation, snapshotId);
  for (let count = 0; count < ATTEMPTS; count += 1) {
    if ((await ownRow(context, sandboxId)).state === 'running') onRunning();
    const still = await holdStill(context, sandboxId);
    if (still === undefined) continue;
    await engine.removeVolume(volume);
    await copiesOf(engine).createVolume(volume, { [LABEL.installation]: installation, [LABEL.snapshot]: snapshotId });
    const memoryVolume = processes ? await copyMemory(context, still, snapshotId) : undefined;
    await jobsOf(context).copy({ volume: still.row.volumeName }, { volume });
    if (await isStill(context, still)) return memoryVolume;
  }
  throw failure('SANDBOX_CONFLICT', { sandboxId });
}

/** Copies the checkpoint of a hibernated sandbox; for a frozen one, makes a checkpoint first. If that fails, the snapshot contains only the files. */
async function copyMemory(context: DockerContext, { row, container, hasMemory }: Still, snapshotId: string): Promise<string | undefined> {
  const { engine, installation, log } = context;
  const { checkpoints } = engine;
  if (!hasMemory || container === undefined || checkpoints === undefined) return undefined;
  const volume = memoryVolumeOf(installation, snapshotId);
  // A name that does not count as a hibernated container, in case a crash leaves the checkpoint here.
  const own = container.checkpoint === undefined ? `copy-${snapshotId}` : undefined;
  try {
    await engine.removeVolume(volume);
    await copiesOf(engine).createVolume(volume, { [LABEL.installation]: installation, [LABEL.snapshot]: snapshotId });
    if (own !== undefined) await checkpoints.make(container.id, own, 'go-on');
    await jobsOf(context).copy({ container: container.id, checkpoint: container.checkpoint ?? `copy-${snapshotId}` }, { volume });
    return volume;
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    log.warn({ sandboxId: row.sandboxId, problem: error.message }, 'a snapshot could not include the processes');
    await engine.removeVolume(volume);
    return undefined;
  } finally {
    if (own !== undefined) await checkpoints.remove(container.id, own).catch(() => undefined);
  }
}

/** Removes the oldest snapshots without a name when the limit is reached. Snapshots with a name are removed only by their owner. */
async function makeRoom(context: DockerContext, sandboxId: string): Promise<void> {
  const { snapshots, snapshotLimit, hostId } = context;
  const all = (await snapshots.list({ sandboxId })).filter(({ ready }) => ready);
  const removable = all.filter((row) => row.name === undefined && row.hostId === hostId);
  const surplus = all.length + 1 - snapshotLimit;
  if (surplus > removable.length) throw failure('SNAPSHOT_LIMIT', { sandboxId, limit: snapshotLimit });
  for (const { snapshotId } of removable.slice(0, Math.max(0, surplus))) await removeSnapshot(context, snapshotId);
}

export function toInfo({ snapshotId, sandboxId, tenantId, name, memoryVolume, hostId, createdAt }: SnapshotRow): SnapshotInfo {
  return { snapshotId, sandboxId, tenantId, ...(name !== undefined && { name }), memory: memoryVolume !== undefined, hostId, createdAt };
}
