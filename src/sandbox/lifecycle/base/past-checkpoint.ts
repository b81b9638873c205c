import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkpointName } from '../../engine/labels.ts';
import type { DockerContext } from './docker-context.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { pause } from '../../../common/pause.ts';

/** The engine notices the end of a container within a moment; writing much memory takes longer. Milliseconds. */
const POLL_MS = { first: 20, longest: 200 };
const ATTEMPTS = 600;

/**
 * Waits until no checkpoint is being written for a hibernated row, and returns its container. A caller gives the row a new generation before it restores a
 * checkpoint. So, while a container runs and has a checkpoint with the row's own generation, that checkpoint is being written.
 */
export async function pastCheckpoint(
  { engine }: Pick<DockerContext, 'engine'>,
  row: Pick<SandboxRow, 'containerName' | 'generation'>,
): Promise<ContainerState | undefined> {
  for (let count = 0; ; count += 1) {
    const container = await engine.inspect(row.containerName);
    if (engine.checkpoints === undefined || container?.status !== 'running' || container.runtime !== 'runsc' || count === ATTEMPTS) return container;
    if (!(await engine.checkpoints.list(container.id)).includes(checkpointName(row.generation))) return container;
    await pause(Math.min(POLL_MS.first * 2 ** count, POLL_MS.longest));
  }
}
