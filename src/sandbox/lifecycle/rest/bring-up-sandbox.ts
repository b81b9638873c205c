import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { applyRow } from '../base/apply-row.ts';
import { isCurrent } from '../base/current.ts';
import { checkpointName } from '../../engine/labels.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { removeCheckpoints } from '../base/engine-parts.ts';
import { destroy } from '../remove/destroy.ts';
import { describeDeath, type FilesOf } from '../base/describe-loss.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { isUp } from '../../engine/is-up.ts';
import { ensureHolder } from '../base/holder.ts';
import { rowHere, type RowHere } from '../base/take-over.ts';
import { discard } from '../make/lay-out.ts';
import { newestFiles } from '../make/newest-files.ts';
import { pastCheckpoint } from '../base/past-checkpoint.ts';
import { startKnown } from '../base/moves.ts';
import { unarchive } from './unarchive.ts';
import { containerSpecOf, startNew } from '../make/new-container.ts';
import { findLoss, wasChanged } from '../base/find-loss.ts';
import { checkPlace } from '../room/place.ts';
import { withMemory, type Purpose } from '../room/with-memory.ts';
import { finishMove, wakeMemory } from './wake-memory.ts';

export interface BroughtUp {
  /** `running`; or `none` or `lost`, from which only an open can make it run. */
  tier: SandboxTier;
  lost?: string;
}

interface How {
  /** Why it has no processes, if the caller knows a better reason than its row and container give. */
  known?: string | undefined;
  /** False when what the sandbox is woken for has ended: then one that is put to rest by another caller is not woken again. */
  isWanted?: () => boolean;
  /** Asked about each row of a sandbox that rests, before anything follows from it: what it wakes for may have been held by a pause since. Throws where the wake is refused. */
  judge?: Judge;
}

/** `again`: the row has to be read again. @param askedMs when its reading began, by the clock of `performance` */
export type Judge = (row: SandboxRow, askedMs: number) => Promise<'wake' | 'stay' | 'again'>;

/**
 * Makes a sandbox run, whatever the states of its row and its container are. The container runs first, and the row is set afterwards:
 * a crash in between leaves a container that runs without need until the next freeze.
 * @param purpose `open` also builds a sandbox that is missing or lost; `wake` leaves that to an open, so that the caller of the open is notified of the loss. `attend` is
 * a wake for work in progress: a sandbox that was put to rest stays there. `copy` is a wake that waits for no memory
 */
export async function bringUpSandbox(context: DockerContext, sandboxId: string, purpose: Purpose, how: How = {}): Promise<BroughtUp> {
  const cause = { text: how.known };
  return withMemory(context, sandboxId, (promised) =>
    untilSettled(sandboxId, async () => {
      const askedMs = performance.now();
      const here: RowHere | undefined = purpose === 'open' ? await rowHere(context, sandboxId) : { row: await ownRow(context, sandboxId) };
      if (here === undefined) return undefined;
      const { row } = here;
      cause.text = here.cause ?? cause.text;
      const verdict = await judged(context, row, { ...how, purpose, askedMs });
      if (verdict !== 'wake') return verdict === 'stay' ? atRest(context, row) : undefined;
      try {
        return (await promised(row, purpose)) && (await stepUp(context, row, purpose, cause));
      } catch (error) {
        const mayBeOthers = isFailure(error, 'DOCKER_FAILED') || isFailure(error, 'BACKUP_DAMAGED');
        if (mayBeOthers && (await wasChanged(context, row))) return undefined;
        throw error;
      }
    }),
  );
}

/** Whether it was put to rest, so that work in progress waits until it is woken. */
export function rests({ state, paused }: SandboxRow): boolean {
  return state === 'frozen' ? paused === true : state === 'stopped' || state === 'hibernated' || state === 'archived';
}

function hasRested(row: SandboxRow): boolean {
  return row.state === 'frozen' || rests(row);
}

/** What becomes of a row. */
async function judged(
  context: DockerContext,
  row: SandboxRow,
  { isWanted = () => true, judge, purpose, askedMs }: How & { purpose: Purpose; askedMs: number },
): ReturnType<Judge> {
  if (isWanted() ? purpose === 'attend' && rests(row) : hasRested(row)) return 'stay';
  if (!judge || !hasRested(row)) return 'wake';
  const { sandboxId, state } = row;
  try {
    return await judge(row, askedMs);
  } catch (error) {
    // An earlier step may have thawed the container, for an older row.
    if (state === 'frozen') await cleanUp(() => applyRow(context, sandboxId), { log: context.log, what: 'a thaw that was refused', sandboxId });
    throw error;
  }
}

/** A container that was thawed for an older row is frozen again. */
async function atRest(context: DockerContext, { sandboxId, state }: SandboxRow): Promise<BroughtUp | undefined> {
  const applied = state === 'frozen' ? await applyRow(context, sandboxId) : undefined;
  return applied === 'running' || applied === 'other' ? undefined : { tier: tierOfState(state) };
}

/** One step towards a running sandbox; undefined when another step has to follow. Stores in `cause` why the sandbox has no processes. */
async function stepUp(context: DockerContext, row: SandboxRow, purpose: Purpose, cause: { text: string | undefined }): Promise<BroughtUp | undefined> {
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
      // An open has been checked with the options that its caller has now.
      if (purpose !== 'open') await checkPlace(context, row, row.options);
      cause.text = (await unarchive(context, row, (next) => containerSpecOf(context, next, 'runsc'))) ?? 'it was archived';
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
 * Wakes a hibernated sandbox. The row gets a new generation before the checkpoint is restored. That tells a restored container from one whose checkpoint is
 * still being written. When the restore fails, the sandbox is lost, and the next open starts it again from its files.
 */
async function wakeUp(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const { engine, rows } = context;
  if (await finishMove(context, row)) return undefined;
  const container = await pastCheckpoint(context, row);
  if (container?.status === 'hibernated') {
    if (row.state !== 'hibernated' || container.checkpoint === checkpointName(row.generation)) {
      await rows.change(row.sandboxId, row.generation, { state: 'hibernated', ...(row.state !== 'hibernated' && { promisedFor: 'wake' as const }) });
      return undefined;
    }
    const woken = await wakeMemory(context, row, container, () => containerSpecOf(context, row, 'runsc'));
    if (woken.outcome === 'awake') return settle(context, row, { containerId: woken.containerId });
    await rows.change(row.sandboxId, row.generation, { state: 'lost', lost: `its memory could not be brought back (${woken.problem})` });
    return undefined;
  }
  if (await makeRun(context, row, container)) {
    // It was never written to disk, or the worker that woke it died before it changed the row.
    // A checkpoint with the row's own generation is being written: its worker then finds the row changed, and wakes the sandbox from the checkpoint.
    await removeCheckpoints(engine, row.containerName, row);
    return settleAwake(context, row);
  }
  return noteEnd(context, row);
}

async function resume(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const { engine } = context;
  const found = await engine.inspect(row.containerName);
  const container = isCurrent(row, found) ? found : undefined;
  if (container?.status === 'paused' && row.state === 'running') {
    return (await applyRow(context, row.sandboxId)) === 'running' ? { tier: 'running' } : undefined;
  }
  if (container?.status === 'hibernated') return wakeUp(context, row);
  const isUp = await makeRun(context, row, container);
  if (isUp) return row.state === 'running' ? { tier: 'running' } : settleAwake(context, row);
  return noteEnd(context, row);
}

/** The sandbox is lost, unless another worker has put it to disk just now, for an older row: then the next step finds its checkpoint. */
async function noteEnd({ engine, rows }: DockerContext, row: SandboxRow): Promise<undefined> {
  const found = await engine.inspect(row.containerName);
  const container = isCurrent(row, found) ? found : undefined;
  if (container?.status === 'hibernated') return;
  await rows.change(row.sandboxId, row.generation, { state: 'lost', lost: describeDeath(container) });
}

/** Returns true when the container runs. A container that has ended is not started. */
async function makeRun(context: DockerContext, row: SandboxRow, container: ContainerState | undefined): Promise<boolean> {
  switch (container?.status) {
    case 'running':
      return true;
    case 'paused':
      return context.engine.unpause(container.id);
    case 'created':
      return startKnown(context, row, container.id);
    default:
      return false;
  }
}

async function startAgain(context: DockerContext, row: SandboxRow, cause = 'it was stopped'): Promise<BroughtUp | undefined> {
  const { engine } = context;
  const before = await engine.inspect(row.containerName);
  if (!isCurrent(row, before) || !(await canStart(context, before))) return replace(context, row, before, cause);
  if (before.status === 'hibernated') await removeCheckpoints(engine, before.id, row);
  const hasEnded = before.status === 'ended' || before.status === 'hibernated';
  const isUp = hasEnded ? await startKnown(context, row, before.id) : await makeRun(context, row, before);
  if (!isUp) return undefined;
  // A container that still runs was about to be stopped; nothing is lost.
  const loss = hasEnded ? await findLoss(context, row, { cause, filesLost: false, expected: true }) : {};
  return loss && settleStarted(context, row, { containerId: before.id, ...loss });
}

/** Unless the container has ended: a worker that stops the sandbox may have read the row before this change. The sandbox is held, so that no stop comes between. */
function settleStarted(context: DockerContext, row: SandboxRow, change: { containerId: string; lost?: string }): Promise<BroughtUp | undefined> {
  return context.rows.hold(row.sandboxId, 'shared', async () =>
    isUp(await context.engine.inspect(change.containerId)) ? settle(context, row, change) : undefined,
  );
}

async function rebuild(context: DockerContext, row: SandboxRow, known?: string): Promise<BroughtUp | undefined> {
  const before = await context.engine.inspect(row.containerName);
  if (!isCurrent(row, before)) return replace(context, row, before, known ?? describeDeath(undefined));
  // Another worker is rebuilding it, or the engine has found its container again.
  if (isUp(before) || before.status === 'created') {
    if (!(await makeRun(context, row, before))) return undefined;
    const loss = await findLoss(context, row, { cause: 'its container had ended', filesLost: false, expected: false });
    return loss && settle(context, row, { containerId: before.id, ...loss });
  }
  const cause = before.status === 'hibernated' ? 'it was hibernated, and its memory could not be brought back' : describeDeath(before);
  return replace(context, row, before, known ?? cause);
}

/** A row with the number of a container that is to be made, and what becomes of the files. */
interface Replacing {
  row: SandboxRow;
  filesLost: boolean;
  filesOf?: FilesOf;
}

/**
 * Gives the row the number of a new container, which makes the old one powerless. A number that no container has had yet was drawn by a worker that is making the
 * container now, or has died.
 */
async function supersede(context: DockerContext, seen: SandboxRow, before: ContainerState | undefined): Promise<Replacing | undefined> {
  const { engine, rows } = context;
  const filesLost = !(await engine.volumeExists(seen.volumeName));
  const isUsed = seen.containerId !== undefined || isCurrent(seen, before);
  const fence = isUsed ? await rows.drawFence() : seen.fence;
  // Stored before the new volume exists: the journal of a new volume is not complete, and every worker that uses it must know that.
  const saved = filesLost ? await newestFiles(context, { ...seen, fence }) : undefined;
  const change = { state: filesLost ? 'lost' : seen.state, fence, filesLost, ...(saved !== undefined && { volumeName: saved.volumeName }) } as const;
  const row = filesLost || isUsed ? await rows.change(seen.sandboxId, seen.generation, change) : seen;
  if (row === undefined && saved !== undefined) await discard(context, saved);
  return row && { row, filesLost, ...(saved !== undefined && { filesOf: saved.filesOf }) };
}

/** Makes a new container on the sandbox's old volume. The old container is removed by id, so that a newer one of another worker is not removed. */
async function replace(context: DockerContext, seen: SandboxRow, before: ContainerState | undefined, cause: string): Promise<BroughtUp | undefined> {
  const { engine, connections } = context;
  const replacing = await supersede(context, seen, before);
  if (replacing === undefined) return undefined;
  const { row, ...files } = replacing;
  // Operations in progress have ended with the old container; they fail here.
  connections.close(row.sandboxId, failure('SANDBOX_LOST', { sandboxId: row.sandboxId, problem: cause }));
  if (before !== undefined) await engine.removeContainer(before.id);
  const containerId = await startNew(context, row);
  if (containerId === undefined) return undefined;
  const loss = await findLoss(context, row, { cause, expected: seen.state === 'stopped', ...files });
  if (loss === undefined) return undefined;
  return (row.state === 'stopped' ? settleStarted : settle)(context, row, { containerId, ...loss });
}

async function settle(context: DockerContext, row: SandboxRow, change: { containerId?: string; lost?: string }): Promise<BroughtUp | undefined> {
  const { rows, log } = context;
  const changed = await rows.change(row.sandboxId, row.generation, { state: 'running', seenFence: row.fence, ...change });
  if (changed === undefined) {
    // Destroyed while its container was being made: the caller that destroyed it may have found no container to remove.
    if ((await rows.get(row.sandboxId))?.state === 'destroyed') await destroy(context, row.sandboxId);
    return undefined;
  }
  log.info({ sandboxId: row.sandboxId, from: row.state, ...(change.lost !== undefined && { lost: change.lost }) }, 'sandbox runs');
  return { tier: 'running', ...(change.lost !== undefined && { lost: change.lost }) };
}

/** Checks the container again: a worker that freezes or hibernates the sandbox may have read the row before this change and acted after the container ran. */
async function settleAwake(context: DockerContext, row: SandboxRow): Promise<BroughtUp | undefined> {
  const settled = await settle(context, row, {});
  const status = (await context.engine.inspect(row.containerName))?.status;
  return status === 'paused' || status === 'hibernated' ? undefined : settled;
}

/** A container cannot be started again after its holder was removed. */
async function canStart(context: DockerContext, { holder }: ContainerState): Promise<boolean> {
  return holder === undefined || (await ensureHolder(context)) === holder;
}
