import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { removeCheckpoints } from '../base/engine-parts.ts';
import { stopKnown } from '../base/moves.ts';

/**
 * Ends a sandbox's processes and keeps its files. The row is set first: other workers treat a container that has ended while its row is `running`
 * as lost. `expiresAt`: nothing is done if it expires at another time.
 */
export async function stop(context: DockerContext, sandboxId: string, { expiresAt }: { expiresAt?: string | undefined } = {}): Promise<SandboxTier> {
  const { rows } = context;
  let hasStopped = false;
  return untilSettled(sandboxId, async () => {
    const before = await ownRow(context, sandboxId);
    if (before.state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
    if (!hasStopped && isProlonged(before, expiresAt)) return tierOfState(before.state);
    // Another caller changed the row to `lost` because it saw the container end during this stop.
    const isOurs = before.state === 'lost' && hasStopped;
    if (!isOurs && (before.state === 'creating' || before.state === 'lost' || before.state === 'archived')) return tierOfState(before.state);
    const change = { state: 'stopped' as const, ifExpired: expiresAt !== undefined };
    const row = before.state === 'stopped' ? before : await rows.change(sandboxId, before.generation, change);
    if (row === undefined) return undefined;
    const isDone = await endProcesses(context, row);
    hasStopped = true;
    return isDone ? 'stopped' : undefined;
  });
}

/** Whether a sandbox that was to be put to rest at the end of its lifetime got a longer one. */
export function isProlonged({ state, expiresAt: now }: SandboxRow, expiresAt: string | undefined): boolean {
  return expiresAt !== undefined && now !== expiresAt && state !== 'stopped';
}

/**
 * Ends the processes of a sandbox whose row is `stopped`: an engine may have refused that before, or a worker died before it. False when a caller has woken the
 * sandbox meanwhile; that one may have found the container still running.
 */
export async function endProcesses(context: DockerContext, row: SandboxRow): Promise<boolean> {
  const { rows, connections, log } = context;
  const { sandboxId, generation } = row;
  connections.close(sandboxId, failure('SANDBOX_LOST', { sandboxId, problem: 'it was stopped' }));
  if (!(await stopKnown(context, row))) return false;
  await removeMemory(context, row);
  if ((await rows.get(sandboxId))?.generation !== generation) return false;
  log.info({ sandboxId }, 'sandbox stopped');
  return true;
}

async function removeMemory({ engine }: DockerContext, row: SandboxRow): Promise<void> {
  if ((await engine.inspect(row.containerName))?.status === 'hibernated') await removeCheckpoints(engine, row.containerName, row);
}
