import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { endBridges } from '../base/end-bridges.ts';
import { freeze } from '../rest/freeze.ts';
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
  // One that ran before any of the attempts was frozen by this copy; another copy at the same time may have woken it in between.
  let wasRunning = false;
  try {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      wasRunning ||= (await ownRow(context, sandboxId)).state === 'running';
      const still = await holdStill(context, sandboxId);
      if (still === undefined) continue;
      const made = await read(still);
      if (await isStill(context, still)) return made;
      await discard(made);
      await removeRemade(context, still.row);
    }
    throw failure('SANDBOX_CONFLICT', { sandboxId });
  } finally {
    const row = await context.rows.get(sandboxId);
    if (wasRunning && row?.state === 'frozen') await bringUpSandbox(context, sandboxId, 'wake');
  }
}

/**
 * Brings a sandbox into a state in which it can be copied: a running one is frozen, a hibernated or stopped one stays as it is. Undefined when the caller
 * has to try again. Other callers can still wake it during the copy, so the caller has to check `isStill` afterwards.
 */
async function holdStill(context: DockerContext, sandboxId: string): Promise<Still | undefined> {
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
      // It stays one that work in progress may thaw.
      return holdFrozen(context, sandboxId, 'idle');
    default:
      return holdFrozen(context, sandboxId, 'pause');
  }
}

/** No worker opens a bridge while the row is `frozen`; but existing bridges would prevent a checkpoint, so they are ended here. */
async function holdFrozen(context: DockerContext, sandboxId: string, mode: 'idle' | 'pause'): Promise<Still | undefined> {
  const { engine } = context;
  if ((await freeze(context, sandboxId, mode)) !== 'frozen') return undefined;
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
