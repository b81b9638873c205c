import { randomBytes } from 'node:crypto';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { makeId } from '../../../contracts/ids.ts';
import type { SnapshotRow } from '../../../store/sandbox-rows.ts';
import type { SnapshotInfo } from '../../api/snapshots.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { copiesOf, jobsOf } from '../base/engine-parts.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import { readStill } from './hold-still.ts';
import { withMemory } from './with-memory.ts';
import { LABEL, memoryVolumeOf, snapshotVolumeOf } from '../../engine/labels.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';

const SNAPSHOT_NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,99}$/u;

export async function snapshot(context: DockerContext, sandboxId: string, { name }: { name?: string }): Promise<SnapshotRow> {
  if (name !== undefined && !SNAPSHOT_NAME.test(name)) {
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: JSON.stringify(name), fix: 'Use up to 100 letters, digits, spaces, "_", "." and "-"' });
  }
  await makeRoom(context, sandboxId, name);
  const made = await takeSnapshot(context, sandboxId);
  const finished = await unlessRefused(context, made.snapshotId, () => finish(context, made, name));
  context.log.info({ sandboxId, snapshotId: made.snapshotId, memory: made.memoryVolume !== undefined }, 'snapshot made');
  return finished;
}

async function finish({ snapshots }: DockerContext, { snapshotId, memoryVolume }: SnapshotRow, name: string | undefined): Promise<SnapshotRow> {
  const parts = { ...(name !== undefined && { name }), ...(memoryVolume !== undefined && { memoryVolume }) };
  const finished = await snapshots.finish(snapshotId, parts);
  if (finished === 'taken') throw nameTaken(name);
  if (finished === undefined) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId });
  return finished;
}

function nameTaken(name = ''): Error {
  const fix = 'Use another name, or remove that one first';
  return failure('INVALID_ARGUMENT', { what: 'name', problem: `the sandbox has a snapshot "${name}" already`, fix });
}

/** Makes a snapshot that is not listed yet. Its row is made before its volumes, so that the reaper knows their owner. */
export async function takeSnapshot(context: DockerContext, sandboxId: string): Promise<SnapshotRow> {
  const { snapshots, installation, hostId } = context;
  const snapshotId = makeId('snap', Date.now(), () => randomBytes(4).readUInt32BE(0) / 2 ** 32);
  const { tenantId, options } = await ownRow(context, sandboxId);
  const volumeName = snapshotVolumeOf(installation, snapshotId);
  const row = { snapshotId, sandboxId, tenantId, hostId, volumeName, options };
  return unlessRefused(context, snapshotId, async () => {
    await snapshots.insert(row);
    const memoryVolume = await copySandbox(context, sandboxId, snapshotId);
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

/** Copies files and memory of the same moment. Returns the volume with the memory, if the memory could be copied. */
function copySandbox(context: DockerContext, sandboxId: string, snapshotId: string): Promise<string | undefined> {
  const { engine } = context;
  const files = snapshotVolumeOf(context.installation, snapshotId);
  const memory = memoryVolumeOf(context.installation, snapshotId);
  return readStill(
    context,
    sandboxId,
    (still) =>
      withMemory(context, still, { processes: true, name: snapshotId }, async (from) => {
        await createVolume(context, snapshotId, files);
        const hasMemory = from !== undefined && (await copyMemory(context, { sandboxId, snapshotId, from, memory }));
        await jobsOf(context).copy({ volume: still.row.volumeName }, { volume: files });
        return hasMemory ? memory : undefined;
      }),
    async () => {
      for (const volume of [files, memory]) await engine.removeVolume(volume);
    },
  );
}

async function createVolume({ engine, installation }: DockerContext, snapshotId: string, volume: string): Promise<void> {
  await copiesOf(engine).createVolume(volume, { [LABEL.installation]: installation, [LABEL.snapshot]: snapshotId });
}

/** False when the memory cannot be copied: the snapshot contains only the files then. */
async function copyMemory(
  context: DockerContext,
  { sandboxId, snapshotId, from, memory }: { sandboxId: string; snapshotId: string; from: CopyPlace; memory: string },
): Promise<boolean> {
  try {
    await createVolume(context, snapshotId, memory);
    await jobsOf(context).copy(from, { volume: memory });
    return true;
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    context.log.warn({ sandboxId, problem: error.message }, 'a snapshot could not include the processes');
    await context.engine.removeVolume(memory);
    return false;
  }
}

/** Removes the oldest snapshots without a name when the limit is reached. Snapshots with a name are removed only by their owner. */
async function makeRoom(context: DockerContext, sandboxId: string, newName: string | undefined): Promise<void> {
  const { snapshots, snapshotLimit } = context;
  const all = (await snapshots.list({ sandboxId })).filter(({ ready }) => ready);
  if (newName !== undefined && all.some(({ name }) => name === newName)) throw nameTaken(newName);
  const removable = all.filter((row) => row.name === undefined);
  const surplus = all.length + 1 - snapshotLimit;
  if (surplus > removable.length) throw failure('SNAPSHOT_LIMIT', { sandboxId, limit: snapshotLimit });
  for (const { snapshotId } of removable.slice(0, Math.max(0, surplus))) await removeSnapshot(context, snapshotId);
}

export function toInfo({ snapshotId, sandboxId, tenantId, name, memoryVolume, hostId, stored, createdAt }: SnapshotRow): SnapshotInfo {
  const parts = { memory: memoryVolume !== undefined, hostId, stored: stored !== undefined };
  return { snapshotId, sandboxId, tenantId, ...(name !== undefined && { name }), ...parts, createdAt };
}
