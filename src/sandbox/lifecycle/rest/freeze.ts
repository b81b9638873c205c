import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { FreezeOptions } from '../../api/host-sandboxes.ts';
import { applyRow } from '../base/apply-row.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { describeDeath } from '../base/describe-loss.ts';

type Mode = NonNullable<FreezeOptions['mode']>;

/**
 * Freezes a running sandbox; one that is neither running nor frozen stays as it is. The row is set before the container is frozen,
 * so that no worker thaws the container because the row says `running`.
 */
export async function freeze(context: DockerContext, sandboxId: string, mode: Mode): Promise<SandboxTier> {
  return untilSettled(sandboxId, async () => {
    const row = await ownRow(context, sandboxId);
    const isPause = mode === 'pause';
    switch (row.state) {
      case 'destroyed':
        throw failure('SANDBOX_DESTROYED', { sandboxId });
      case 'frozen':
        // A pause is a change also where the sandbox is paused: a copy that holds it still would wake it at its end.
        return isPause ? change(context, row, { paused: true }) : keepFrozen(context, row);
      case 'running':
        // This process does not know the work of other processes; those thaw the sandbox again.
        if (!isPause && context.work.isUnderWay(sandboxId)) return 'running';
        return change(context, row, { paused: isPause });
      default:
        return tierOfState(row.state);
    }
  });
}

async function change(context: DockerContext, { sandboxId, generation }: SandboxRow, { paused }: { paused: boolean }): Promise<SandboxTier | undefined> {
  const frozen = await context.rows.change(sandboxId, generation, { state: 'frozen', paused });
  return frozen === undefined ? undefined : keepFrozen(context, frozen);
}

/** Freezes the container of a sandbox whose row is `frozen`. Undefined when another caller has changed the row. */
export async function keepFrozen(context: DockerContext, row: SandboxRow): Promise<SandboxTier | undefined> {
  const { engine, rows, connections, log } = context;
  connections.closeUnlessUsed(row.sandboxId);
  const applied = await applyRow(context, row.sandboxId);
  if (applied === 'other') return undefined;
  if (applied === 'gone') {
    const container = await engine.inspect(row.containerName);
    // Another worker has put it to disk, for an older row.
    const change = container?.status === 'hibernated' ? ({ state: 'hibernated' } as const) : ({ state: 'lost', lost: describeDeath(container) } as const);
    await rows.change(row.sandboxId, row.generation, change);
    return undefined;
  }
  // `running` when another caller has woken it meanwhile: the later request wins.
  log.info({ sandboxId: row.sandboxId, tier: applied }, 'sandbox frozen');
  return applied;
}
