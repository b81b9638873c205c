import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { applyRow } from '../base/apply-row.ts';
import { checkpointName } from '../../engine/labels.ts';
import { ownRow, untilSettled, type DockerContext } from '../base/context.ts';
import { destroy } from '../remove/destroy.ts';
import { describeDeath } from '../base/describe-loss.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { ensureHolder } from '../base/holder.ts';
import { discard } from '../make/lay-out.ts';
import { newestFiles } from '../make/newest-files.ts';
import { pastCheckpoint } from '../base/past-checkpoint.ts';
import { unarchive } from './unarchive.ts';
import { specOf, startNew } from '../make/new-container.ts';
import { findLoss, wasChanged } from '../base/find-loss.ts';
import { finishMove, wakeMemory } from './wake-memory.ts';

export interface BroughtUp {
  /** `running`; or `none` and `lost`, which only an open can mend. */
  tier: SandboxTier;
  lost?: string;
}

/**
 * Makes a sandbox run, whatever its row and its container say now. The container is made to run first and the row set afterwards:
 * a crash in between leaves a container that runs although it need not, which the next freeze mends.
 * @param purpose `open` also builds what is missing or lost; `wake` leaves that to an open, so that somebody is told of the loss
 * @param known why it has no processes, when the caller knows better than its row and container
 */
export async function bringUp(context: DockerContext, sandboxId: string, purpose: 'open' | 'wake', known?: string): Promise<BroughtUp> {
  const cause = { text: known };
  return untilSettled(sandboxId, async () => {
    const row = await ownRow(context, sandboxId);
    try {
      return await stepUp(context, row, purpose, cause);
    } catch (error) {
      if (isFailure(error, 'DOCKER_FAILED') && (await wasChanged(context, row))) return undefined;
      throw error;
    }
  });
}

/** One step towards a running sandbox; undefined when another has to follow. `cause` gathers why it has no processes. */
async function stepUp(context: DockerContext, row: SandboxRow, purpose: 'open' | 'wake', cause: { text: string | undefined }): Promise<BroughtUp | undefined> {
  switch (row.state) {
    case 'destroyed':
      throw failure('SANDBOX_DESTROYED', { sandboxId: row.sandboxId });
    case 'creating':
    case 'warm':
      return purpose === 'open' ? build(context, row) : { tier: 'none' };
    case 'lost':
      return purpose === 'open' ? rebuild(context, row, cause.text) : { tier: 'lost' };
    case 'stopped':
      return startAgain(context, row, cause.text);
    case 'archived':
      cause.text = (await unarchive(context, row, (volumeName) => specOf(context, { ...row, volumeName }, 'runsc'))) ?? 'it was archived';
      return undefined;
    case 'hibernated':
      return wakeUp(context, row);
    default:
      return resume(context, row);
  }
}

async function build(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const containerId = await startNew(context, row);
  return containerId === undefined ? undefined : settle(context, row, { containerId });
}

/**
 * Lets the processes of a hibernated sandbox go on. The row is moved on before its checkpoint is restored, which tells a container that was restored
 * from one that is still being put to disk. When that is impossible it is lost, and the next open starts it anew from its files.
 */
async function wakeUp(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const { engine, rows } = context;
  if (await finishMove(context, row)) return undefined;
  const container = await pastCheckpoint(context, row);
  if (container?.status === 'hibernated') {
    if (row.state !== 'hibernated' || container.checkpoint === checkpointName(row.generation)) {
      await rows.change(row.sandboxId, row.generation, { state: 'hibernated' });
      return undefined;
    }
    const woken = await wakeMemory(context, row, container, () => specOf(context, row, 'runsc'));
    if (woken.outcome === 'awake') return settle(context, row, { containerId: woken.containerId });
    await rows.change(row.sandboxId, row.generation, { state: 'lost', lost: `its memory could not be brought back (${woken.problem})` });
    return undefined;
  }
  if (await makeRun(context, container)) {
    // It was never put to disk, or somebody who woke it has died before he could say so.
    // One with the row's own number is being written: the worker that does so finds the row changed, and wakes the sandbox from it.
    const older = (await engine.checkpointsOf(row.containerName)).filter((name) => name !== checkpointName(row.generation));
    for (const name of older) await engine.removeCheckpoint(row.containerName, name);
    return settleAwake(context, row);
  }
  await rows.change(row.sandboxId, row.generation, { state: 'lost', lost: describeDeath(container) });
  return undefined;
}

async function resume(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const { engine, rows } = context;
  const container = await engine.inspect(row.containerName);
  if (container?.status === 'paused' && row.state === 'running') {
    return (await applyRow(context, row.sandboxId)) === 'running' ? { tier: 'running' } : undefined;
  }
  if (container?.status === 'hibernated') return wakeUp(context, row);
  const isUp = await makeRun(context, container);
  if (isUp) return row.state === 'running' ? { tier: 'running' } : settleAwake(context, row);
  await rows.change(row.sandboxId, row.generation, { state: 'lost', lost: describeDeath(container) });
  return undefined;
}

/** True when the container runs now; a container that has ended is left as it is. */
async function makeRun({ engine }: DockerContext, container: ContainerState | undefined): Promise<boolean> {
  switch (container?.status) {
    case 'running':
      return true;
    case 'paused':
      return engine.unpause(container.id);
    case 'created':
      return engine.start(container.id);
    default:
      return false;
  }
}

async function startAgain(context: DockerContext, row: SandboxRow, cause = 'it was stopped'): Promise<BroughtUp | undefined> {
  const { engine } = context;
  const before = await engine.inspect(row.containerName);
  if (before === undefined || !(await canStart(context, before))) return replace(context, row, before, cause);
  for (const name of before.status === 'hibernated' ? await engine.checkpointsOf(before.id) : []) await engine.removeCheckpoint(before.id, name);
  const hasEnded = before.status === 'ended' || before.status === 'hibernated';
  const isUp = hasEnded ? await engine.start(before.id) : await makeRun(context, before);
  if (!isUp) return undefined;
  // One that runs was about to be stopped.
  const loss = hasEnded ? await findLoss(context, row, { cause, filesLost: false, expected: true }) : {};
  return loss && settleStarted(context, row, { containerId: before.id, ...loss });
}

/** A worker that stops the sandbox may have read the row before this change, and stopped the container after it was started. */
async function settleStarted(context: DockerContext, row: SandboxRow, change: { containerId: string; lost?: string }): Promise<BroughtUp | undefined> {
  const settled = await settle(context, row, change);
  if (settled === undefined || (await context.engine.inspect(change.containerId))?.status !== 'ended') return settled;
  await context.rows.change(row.sandboxId, row.generation + 1, { state: 'stopped' });
  return undefined;
}

async function rebuild(context: DockerContext, row: SandboxRow, known?: string): Promise<BroughtUp | undefined> {
  const before = await context.engine.inspect(row.containerName);
  // Somebody else is rebuilding it, or an engine that had lost it has it back.
  if (before?.status === 'running' || before?.status === 'paused' || before?.status === 'created') {
    if (!(await makeRun(context, before))) return undefined;
    const loss = await findLoss(context, row, { cause: 'its container had ended', filesLost: false, expected: false });
    return loss && settle(context, row, { containerId: before.id, ...loss });
  }
  const cause = before?.status === 'hibernated' ? 'it was hibernated, and its memory could not be brought back' : describeDeath(before);
  return replace(context, row, before, known ?? cause);
}

/** A new container on the sandbox's old volume. The old one is removed by id, so that nobody's newer one is hit. */
async function replace(context: DockerContext, seen: SandboxRow, before: ContainerState | undefined, cause: string): Promise<BroughtUp | undefined> {
  const { engine, connections, rows } = context;
  const filesLost = !(await engine.volumeExists(seen.volumeName));
  // Noted before there is a new volume: whoever meets that one must know that its journal does not go back to the beginning.
  const saved = filesLost ? await newestFiles(context, seen) : undefined;
  const change = { state: 'lost', filesLost, ...(saved !== undefined && { volumeName: saved.volumeName }) } as const;
  const row = filesLost ? await rows.change(seen.sandboxId, seen.generation, change) : seen;
  if (row === undefined) {
    if (saved !== undefined) await discard(context, saved);
    return undefined;
  }
  // What was in progress has ended with the old container: it does not run on.
  connections.close(row.sandboxId, failure('SANDBOX_LOST', { sandboxId: row.sandboxId, problem: cause }));
  if (before !== undefined) await engine.removeContainer(before.id);
  const containerId = await startNew(context, row);
  if (containerId === undefined) return undefined;
  const loss = await findLoss(context, row, {
    cause,
    filesLost,
    expected: seen.state === 'stopped',
    ...(saved !== undefined && { filesOf: saved.madeAt }),
  });
  return loss && settle(context, row, { containerId, ...loss });
}

async function settle(context: DockerContext, row: SandboxRow, change: { containerId?: string; lost?: string }): Promise<BroughtUp | undefined> {
  const { rows, log } = context;
  const changed = await rows.change(row.sandboxId, row.generation, { state: 'running', ...change });
  if (changed === undefined) {
    // Destroyed while its container was being made: whoever destroyed it may have found nothing to remove yet.
    if ((await rows.get(row.sandboxId))?.state === 'destroyed') await destroy(context, row.sandboxId);
    return undefined;
  }
  log.info({ sandboxId: row.sandboxId, from: row.state, ...(change.lost !== undefined && { lost: change.lost }) }, 'sandbox runs');
  return { tier: 'running', ...(change.lost !== undefined && { lost: change.lost }) };
}

/** The worker that freezes it or puts it to disk may have read the row before this change, and acted after the container was made to run. */
async function settleAwake(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const settled = await settle(context, row, {});
  const status = (await context.engine.inspect(row.containerName))?.status;
  return status === 'paused' || status === 'hibernated' ? undefined : settled;
}

/** A container whose holder is gone can never be started again. */
async function canStart(context: DockerContext, { holder }: ContainerState): Promise<boolean> {
  return holder === undefined || (await ensureHolder(context)) === holder;
}
