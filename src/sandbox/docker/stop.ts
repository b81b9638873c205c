import type { SandboxTier } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import { ownRow, tierOf, untilSettled, type DockerContext } from './context.ts';

/**
 * Ends a sandbox's processes and keeps its files. The row is set first: a container that has ended while its row says `running`
 * would be taken for a lost one.
 */
export async function stop(context: DockerContext, sandboxId: string): Promise<SandboxTier> {
  const { engine, rows, connections, log } = context;
  return untilSettled(sandboxId, async () => {
    const row = await ownRow(context, sandboxId);
    switch (row.state) {
      case 'destroyed':
        throw failure('SANDBOX_DESTROYED', { sandboxId });
      case 'creating':
      case 'lost':
        return tierOf(row.state);
      case 'running':
      case 'frozen':
      case 'hibernated':
        if ((await rows.change(sandboxId, row.generation, { state: 'stopped' })) === undefined) return undefined;
        break;
      case 'stopped':
        break;
    }
    connections.close(sandboxId);
    await engine.stop(row.containerName);
    for (const name of await checkpointsIn(context, row.containerName)) await engine.removeCheckpoint(row.containerName, name);
    log.info({ sandboxId }, 'sandbox stopped');
    return 'stopped';
  });
}

async function checkpointsIn({ engine }: DockerContext, container: string): Promise<string[]> {
  return (await engine.inspect(container))?.status === 'hibernated' ? engine.checkpointsOf(container) : [];
}
