import { failure } from '../../contracts/errors.ts';
import type { SandboxRow, SnapshotRow } from '../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../sandbox.ts';
import { specOf } from './new-container.ts';
import { canCopyMemory } from './can-copy-memory.ts';
import type { DockerContext } from './context.ts';
import type { Place } from './copy-jobs.ts';
import { containerNameOf } from './labels.ts';
import { discard, layOut } from './lay-out.ts';

/**
 * Makes a sandbox of a snapshot: `hibernated` when its processes came along, else `stopped`. It gets a row only when all its files are there, so nobody
 * opens half of it.
 */
export async function restore(context: DockerContext, snapshot: SnapshotRow, owner: SandboxOwner): Promise<void> {
  const { rows, jobs, hostId, installation, log } = context;
  const { sandboxId, tenantId, conversationId, ttlMs } = owner;
  const { snapshotId, volumeName, memoryVolume, options } = snapshot;
  if (snapshot.tenantId !== tenantId) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId });
  if (snapshot.hostId !== hostId) throw failure('SNAPSHOT_ELSEWHERE', { snapshotId, host: snapshot.hostId, here: hostId });
  if ((await rows.get(sandboxId)) !== undefined) throw taken(sandboxId);
  const row = {
    sandboxId,
    tenantId,
    hostId,
    options,
    containerName: containerNameOf(installation, sandboxId),
    ...(conversationId !== undefined && { conversationId }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  const specFor = (volume: string) => specOf(context, { ...row, volumeName: volume }, 'runsc');
  const hasMemory = memoryVolume !== undefined && (await canCopyMemory(context));
  const laidOut = await layOut(context, row, {
    files: (to) => jobs.copy({ volume: volumeName }, to),
    ...(hasMemory && { memory: { specOf: specFor, copyTo: (to: Place) => jobs.copy({ volume: memoryVolume }, to) } }),
  });
  const made: SandboxRow = await rows.ensure({ ...row, state: 'stopped', volumeName: laidOut.volumeName });
  if (made.volumeName !== laidOut.volumeName) {
    await discard(context, laidOut);
    throw taken(sandboxId);
  }
  if (laidOut.containerId !== undefined) await rows.change(sandboxId, made.generation, { state: 'hibernated', containerId: laidOut.containerId });
  log.info({ sandboxId, snapshotId, memory: laidOut.containerId !== undefined }, 'snapshot restored');
}

function taken(sandboxId: string): Error {
  return failure('INVALID_ARGUMENT', { what: 'sandboxId', problem: `there is a sandbox "${sandboxId}" already`, fix: 'Restore into one with a new id' });
}
