import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from '../base/docker-context.ts';
import { removeCheckpoints } from '../base/engine-parts.ts';

/**
 * Ends a sandbox's processes and keeps its files. The row is set first: other workers treat a container that has ended while its row is `running`
 * as lost.
 */
export async function stop(context: DockerContext, sandboxId: string): Promise<SandboxTier> {
  const { engine, rows, connections, log } = context;
  let hasStopped = false;
  return untilSettled(sandboxId, async () => {
    const before = await ownRow(context, sandboxId);
    if (before.state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
    // Another caller changed the row to `lost` because it saw the container end during this stop.
    const isOurs = before.state === 'lost' && hasStopped;
    if (!isOurs && (before.state === 'creating' || before.state === 'lost' || before.state === 'archived')) return tierOfState(before.state);
    const row = before.state === 'stopped' ? before : await rows.change(sandboxId, before.generation, { state: 'stopped' });
    if (row === undefined) return undefined;
    connections.close(sandboxId, failure('SANDBOX_LOST', { sandboxId, problem: 'it was stopped' }));
    await engine.stop(row.containerName);
    hasStopped = true;
    await removeMemory(context, row.containerName);
    // A caller that woke it meanwhile may have found the container still running.
    if ((await rows.get(sandboxId))?.generation !== row.generation) return undefined;
    log.info({ sandboxId }, 'sandbox stopped');
    return 'stopped';
  });
}

async function removeMemory({ engine }: DockerContext, container: string): Promise<void> {
  if ((await engine.inspect(container))?.status === 'hibernated') await removeCheckpoints(engine, container);
}
