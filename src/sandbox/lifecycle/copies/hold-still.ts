import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { endBridges } from '../base/end-bridges.ts';
import { keepFrozen } from '../rest/freeze.ts';
import { isUp } from '../../engine/is-up.ts';
import { pastCheckpoint } from '../base/past-checkpoint.ts';
import { removeRemade } from '../remove/remove-remade.ts';
import { endProcesses } from '../rest/stop.ts';

/** A copy is repeated when another caller wakes the sandbox during it. */
const ATTEMPTS = 5;

/** A sandbox that does not change for now. */
export interface Still {
  row: SandboxRow;
  /** Absent when it is stopped and its container was removed. */
  container?: ContainerState;
  /** Whether its memory can be copied as well. */
  hasMemory: boolean;
}

/**
 * Reads a sandbox while it does not change, and lets it run again if it ran. `read` is repeated when another caller has changed the sandbox meanwhile; what it had
 * made is discarded.
 */
export async function readStill<T>(
  context: DockerContext,
  sandboxId: string,
  read: (still: Still) => Promise<T>,
  discard: (made: T) => Promise<void>,
): Promise<T> {
  const hold: Hold = {};
  try {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      const still = await holdStill(context, sandboxId, hold);
      if (still === undefined) continue;
      const made = await read(still);
      if (await isStill(context, still)) return made;
      await discard(made);
      await removeRemade(context, still.row);
    }
    throw failure('SANDBOX_CONFLICT', { sandboxId });
  } finally {
    const judge = async (row: SandboxRow) => (isHeld(row, hold) ? ('wake' as const) : ('stay' as const));
    const row = await context.rows.get(sandboxId);
    if (row && isHeld(row, hold)) await bringUpSandbox(context, sandboxId, 'wake', { judge });
  }
}

/** The freeze of a sandbox that ran, by a copy. */
interface Hold {
  /** What it has made of the row. */
  generation?: number;
}

/** Whether a sandbox is frozen for this copy alone: a pause that came since is a change of the row. */
function isHeld({ state, generation }: SandboxRow, hold: Hold): boolean {
  return state === 'frozen' && generation === hold.generation;
}

/** As a pause does it, so that no work in progress thaws it. Undefined when another caller has changed the row. */
async function holdRunning(hold: Hold, context: DockerContext, { sandboxId, generation }: SandboxRow): Promise<Still | undefined> {
  // Before, since the answer may be lost.
  hold.generation = generation + 1;
  const frozen = await context.rows.change(sandboxId, generation, { state: 'frozen', paused: true });
  if (frozen === undefined) delete hold.generation;
  return frozen && holdFrozen(context, frozen);
}

/**
 * Brings a sandbox into a state in which it can be copied: a running one is frozen, a hibernated or stopped one stays as it is. Undefined when the caller
 * has to try again. Other callers can still wake it during the copy, so the caller has to check `isStill` afterwards.
 */
async function holdStill(context: DockerContext, sandboxId: string, hold: Hold): Promise<Still | undefined> {
  const row = await ownRow(context, sandboxId);
  switch (row.state) {
    case 'destroyed':
      throw failure('SANDBOX_DESTROYED', { sandboxId });
    case 'creating':
    case 'lost':
      throw failure('SANDBOX_LOST', { sandboxId, problem: 'there is nothing to copy' });
    case 'archived':
      await bringUpSandbox(context, sandboxId, 'copy');
      return undefined;
    case 'hibernated': {
      const container = await pastCheckpoint(context, row);
      if (container?.status === 'hibernated') return { row, container, hasMemory: await canCopyMemory(context) };
      await bringUpSandbox(context, sandboxId, 'copy');
      return undefined;
    }
    case 'stopped': {
      const container = await context.engine.inspect(row.containerName);
      if (!isUp(container)) return { row, hasMemory: false, ...(container !== undefined && { container }) };
      await endProcesses(context, row);
      return undefined;
    }
    case 'frozen':
      return holdFrozen(context, row);
    default:
      return holdRunning(hold, context, row);
  }
}

/** No worker opens a bridge while the row is `frozen`; but existing bridges would prevent a checkpoint, so they are ended here. */
async function holdFrozen(context: DockerContext, frozen: SandboxRow): Promise<Still | undefined> {
  const { engine } = context;
  const { sandboxId } = frozen;
  if ((await keepFrozen(context, frozen)) !== 'frozen') return undefined;
  const row = await ownRow(context, sandboxId);
  const before = await engine.inspect(row.containerName);
  if (row.state !== 'frozen' || before === undefined) return undefined;
  const hasMemory = before.runtime === 'runsc' && (await canCopyMemory(context));
  if (hasMemory && before.execs > 0) {
    await engine.unpause(before.id);
    await endBridges(context, sandboxId, before.id);
    await engine.pause(before.id);
  }
  const container = await engine.inspect(before.id);
  if (container?.status !== 'paused') return undefined;
  return { row, container, hasMemory: hasMemory && container.execs === 0 };
}

/** Whether the sandbox has not changed since `holdStill`. The container is checked too, because a wake changes it before the row. */
async function isStill({ engine, rows }: DockerContext, { row, container }: Still): Promise<boolean> {
  const now = await engine.inspect(row.containerName);
  return now?.status === container?.status && now?.id === container?.id && (await rows.get(row.sandboxId))?.generation === row.generation;
}
