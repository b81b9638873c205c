import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxChange, SandboxRow, SandboxState } from '../../../store/sandbox-rows.ts';
import { bringUpSandbox } from './bring-up-sandbox.ts';
import { checkpointName } from '../../engine/labels.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { describeDeath } from '../base/describe-loss.ts';
import { endBridges } from '../base/end-bridges.ts';
import type { Checkpoints, ContainerState } from '../../engine/engine.ts';
import { pastCheckpoint } from '../base/past-checkpoint.ts';
import { pastMoves } from '../base/moves.ts';
import { keepFrozen } from './freeze.ts';
import { isProlonged, stop } from './stop.ts';

const CHECKPOINT_ATTEMPTS = 3;
const HAVE_PROCESSES: ReadonlySet<SandboxState> = new Set(['running', 'frozen', 'hibernated']);

/**
 * Writes a sandbox to disk with its processes. The row is set first: from then on no worker opens a bridge into the container, and callers wait for the
 * sandbox or wake it. A sandbox that cannot be checkpointed is stopped or stays as it is, according to `otherwise`. `expiresAt`: nothing is done if it expires at another time.
 */
export async function hibernate(
  context: DockerContext,
  sandboxId: string,
  otherwise: 'stop' | 'stay',
  { expiresAt }: { expiresAt?: string | undefined } = {},
): Promise<SandboxTier> {
  const settled = await untilSettled(sandboxId, () => attempt(context, sandboxId, expiresAt));
  if (settled !== 'cannot') return settled;
  if (otherwise === 'stop') return stop(context, sandboxId, { expiresAt });
  return tierOfState((await ownRow(context, sandboxId)).state);
}

async function attempt(context: DockerContext, sandboxId: string, expiresAt: string | undefined): Promise<SandboxTier | 'cannot' | undefined> {
  const row = await ownRow(context, sandboxId);
  if (row.state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
  // An earlier attempt may have changed the row alone.
  if (row.state === 'stopped') return stop(context, sandboxId);
  if (!HAVE_PROCESSES.has(row.state) || isProlonged(row, expiresAt)) return tierOfState(row.state);
  return save(context, row, { ifExpired: expiresAt !== undefined });
}

async function save(context: DockerContext, row: SandboxRow, only: Pick<SandboxChange, 'ifExpired'>): Promise<SandboxTier | 'cannot' | undefined> {
  const { engine, rows } = context;
  const { sandboxId } = row;
  const container = row.state === 'hibernated' ? await pastCheckpoint(context, row) : await engine.inspect(row.containerName);
  if (row.state === 'hibernated' && container?.status === 'hibernated') return onDisk(context, row);
  if (container === undefined || container.status === 'ended') {
    await rows.change(sandboxId, row.generation, { state: 'lost', lost: describeDeath(container) });
    return undefined;
  }
  const checkpoints = await checkpointsFor(context, sandboxId, container);
  if (checkpoints === undefined) return 'cannot';
  // It has its memory until the checkpoint is complete.
  const resting = await rows.change(sandboxId, row.generation, { state: 'hibernated', promisedFor: 'rest', ...only });
  return resting && putToDisk(context, resting, { before: row, container, checkpoints });
}

/** The worker that put it to disk may have died before it gave its memory back. */
async function onDisk({ rows }: DockerContext, row: SandboxRow): Promise<SandboxTier> {
  if (row.promised?.for === 'rest') await rows.release(row.sandboxId, row);
  return 'hibernated';
}

/** Undefined when this container cannot be hibernated here. */
async function checkpointsFor({ engine, capabilities, log }: DockerContext, sandboxId: string, { runtime }: ContainerState): Promise<Checkpoints | undefined> {
  if (runtime !== 'runsc') return undefined;
  const { checkpoint, problem } = await capabilities();
  if (!checkpoint) log.info({ sandboxId, problem }, 'this host cannot hibernate a sandbox');
  return checkpoint ? engine.checkpoints : undefined;
}

interface Hibernating {
  /** The row as it was found. */
  before: SandboxRow;
  container: ContainerState;
  checkpoints: Checkpoints;
}

async function putToDisk(context: DockerContext, row: SandboxRow, hibernating: Hibernating): Promise<SandboxTier | 'cannot' | undefined> {
  const { engine, log } = context;
  const { sandboxId } = row;
  const { before, container, checkpoints } = hibernating;
  const name = checkpointName(row.generation);
  for (let count = 1; ; count += 1) {
    try {
      // The bridges in a frozen container cannot end, so its processes run for a moment.
      await engine.unpause(container.id);
      await endBridges(context, sandboxId, container.id);
      if ((await pastMoves(context, sandboxId))?.generation !== row.generation) return undefined;
      await checkpoints.make(container.id, name);
      break;
    } catch (error) {
      if (!isFailure(error, 'DOCKER_FAILED')) throw error;
      log.warn({ sandboxId, problem: error.message }, 'a sandbox could not be put to disk');
      const now = await engine.inspect(container.id);
      if (now?.status === 'hibernated') break;
      if (now?.status === 'ended' || now === undefined || count === CHECKPOINT_ATTEMPTS) return giveUp(context, row, now, before);
    }
  }
  return settle(context, row, hibernating);
}

/** Removes older checkpoints. Wakes the sandbox when another caller has woken it during the checkpoint: that caller found the container running. */
async function settle(context: DockerContext, { sandboxId, generation }: SandboxRow, { container, checkpoints }: Hibernating): Promise<SandboxTier> {
  const { rows, log } = context;
  // The engine notices the end a moment later; only then the memory of the sandbox is released.
  await pastCheckpoint(context, { containerName: container.id, generation });
  const [, ...older] = await checkpoints.list(container.id);
  for (const name of older) await checkpoints.remove(container.id, name);
  await rows.release(sandboxId, { generation });
  const now = await rows.get(sandboxId);
  if (now?.generation !== generation && (now?.state === 'running' || now?.state === 'frozen')) return (await bringUpSandbox(context, sandboxId, 'wake')).tier;
  log.info({ sandboxId }, 'sandbox hibernated');
  return now === undefined ? 'none' : tierOfState(now.state);
}

/** One that was frozen is frozen again: a pause may hold what runs in it. */
async function giveUp(
  context: DockerContext,
  { sandboxId, generation }: SandboxRow,
  container: ContainerState | undefined,
  before: SandboxRow,
): Promise<'cannot' | undefined> {
  const { rows } = context;
  if (container?.status !== 'running') {
    await rows.change(sandboxId, generation, { state: 'lost', lost: describeDeath(container) });
    return undefined;
  }
  const wasFrozen = before.state === 'frozen';
  const changed = await rows.change(sandboxId, generation, wasFrozen ? { state: 'frozen', paused: before.paused === true } : { state: 'running' });
  if (wasFrozen && changed) await keepFrozen(context, changed);
  return 'cannot';
}
