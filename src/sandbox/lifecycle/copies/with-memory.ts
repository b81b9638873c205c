import { isFailure } from '../../../contracts/errors.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import type { Still } from './hold-still.ts';

/**
 * Calls `copy` with the checkpoint of a sandbox: that of a hibernated one, or one that is made of a frozen one for this call. Without it when there is none, or when
 * none can be made. The checkpoint is made before anything is copied: it may write what the programs have not written to their files yet.
 * @param name is part of the name of a checkpoint that is made, and has to be new
 */
export async function withMemory<T>(
  { engine: { checkpoints }, log }: DockerContext,
  { row, container, hasMemory }: Still,
  { processes, name }: { processes: boolean; name: string },
  copy: (from?: CopyPlace) => Promise<T>,
): Promise<T> {
  if (!processes || !hasMemory || container === undefined || checkpoints === undefined) return copy();
  const { id, checkpoint } = container;
  if (checkpoint !== undefined) return copy({ container: id, checkpoint });
  // A name that does not count as a hibernated container, in case a crash leaves the checkpoint here.
  const own = `copy-${name}`;
  try {
    const isMade = await checkpoints.make(id, own, 'go-on').then(
      () => true,
      (error: unknown) => {
        if (!isFailure(error, 'DOCKER_FAILED')) throw error;
        log.warn({ sandboxId: row.sandboxId, problem: error.message }, 'a copy could not include the processes');
        return false;
      },
    );
    return await copy(isMade ? { container: id, checkpoint: own } : undefined);
  } finally {
    await checkpoints.remove(id, own).catch(() => undefined);
  }
}
