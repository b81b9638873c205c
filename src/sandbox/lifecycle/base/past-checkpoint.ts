import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { checkpointName } from '../../engine/labels.ts';
import type { DockerContext } from './context.ts';
import type { ContainerState } from '../../engine/engine.ts';
import { pause } from '../../../common/pause.ts';

/** The engine notices an end within a moment; to write a big memory takes longer. Milliseconds. */
const POLL_MS = { first: 20, longest: 200 };
const ATTEMPTS = 600;

/**
 * The container of a hibernated row, once no checkpoint is being written for that row any more. Nobody restores a checkpoint before he has moved the
 * row on; so a container that runs beside a checkpoint with the row's own number is one that is being put to disk.
 */
export async function pastCheckpoint(
  { engine }: Pick<DockerContext, 'engine'>,
  row: Pick<SandboxRow, 'containerName' | 'generation'>,
): Promise<ContainerState | undefined> {
  for (let count = 0; ; count += 1) {
    const container = await engine.inspect(row.containerName);
    if (container?.status !== 'running' || container.runtime !== 'runsc' || count === ATTEMPTS) return container;
    if (!(await engine.checkpointsOf(container.id)).includes(checkpointName(row.generation))) return container;
    await pause(Math.min(POLL_MS.first * 2 ** count, POLL_MS.longest));
  }
}
