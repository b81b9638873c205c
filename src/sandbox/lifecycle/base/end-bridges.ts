import type { DockerContext } from './docker-context.ts';
import { pause } from '../../../common/pause.ts';

/** Pause between checks, in which bridges end by themselves and the engine notices that. Milliseconds. */
const BRIDGE_PAUSE_MS = 100;
const BRIDGE_ATTEMPTS = 50;

/** Ends all bridges into a container: it cannot be checkpointed while the engine runs a command in it. */
export async function endBridges({ engine, connections }: DockerContext, sandboxId: string, container: string): Promise<void> {
  connections.disconnect(sandboxId);
  for (let count = 0; count < BRIDGE_ATTEMPTS; count += 1) {
    if (((await engine.inspect(container))?.execs ?? 0) === 0) return;
    // Bridges of this process end by themselves; those of other workers are killed.
    if (count % 5 === 4) await engine.checkpoints?.endBridges(container);
    else await pause(BRIDGE_PAUSE_MS);
  }
}
