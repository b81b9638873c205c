import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from './docker-context.ts';

type Parts = Pick<DockerContext, 'engine' | 'rows'>;

/**
 * Starts a container that this caller has not made itself. False when the row has changed, or when there is no such container: another caller has let it run
 * and may have put it to rest since, and a start without its checkpoint would lose its processes. The sandbox is held meanwhile, so that no end comes between.
 */
export function startKnown({ engine, rows }: Parts, { sandboxId, generation, fence }: SandboxRow, container: string): Promise<boolean> {
  return rows.hold(sandboxId, 'shared', async (now) => now?.generation === generation && now.fence === fence && engine.start(container));
}

/** Ends the processes of a container, with the same limits: false when the row has changed. */
export function stopKnown({ engine, rows }: Parts, { sandboxId, containerName, generation, fence }: SandboxRow): Promise<boolean> {
  return rows.hold(sandboxId, 'alone', async (now) => {
    if (now?.generation !== generation || now.fence !== fence) return false;
    await engine.stop(containerName);
    return true;
  });
}

/** Waits until no container of a sandbox is being started or ended for an older row than the newest one, which it returns. */
export function pastMoves({ rows }: Pick<Parts, 'rows'>, sandboxId: string): Promise<SandboxRow | undefined> {
  return rows.hold(sandboxId, 'alone', async (row) => row);
}
