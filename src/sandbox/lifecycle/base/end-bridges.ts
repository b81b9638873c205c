import type { DockerContext } from './context.ts';
import { pause } from '../../../common/pause.ts';

/** Time for bridges to end by themselves before they are ended, and for the engine to note it. Milliseconds. */
const BRIDGE_PAUSE_MS = 100;
const BRIDGE_ATTEMPTS = 50;

/** A container cannot be checkpointed while the engine runs a command in it. */
export async function endBridges({ engine, connections }: DockerContext, sandboxId: string, container: string): Promise<void> {
  connections.disconnect(sandboxId);
  for (let count = 0; count < BRIDGE_ATTEMPTS; count += 1) {
    if (((await engine.inspect(container))?.execs ?? 0) === 0) return;
    // Ours end by themselves; those of other workers do not.
    if (count % 5 === 4) await engine.endBridges(container);
    else await pause(BRIDGE_PAUSE_MS);
  }
}
