import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from './docker-context.ts';

type Parts = Pick<DockerContext, 'engine' | 'rows'>;

/**
 * Starts a container that this caller has not made itself. False when the row has changed, or when there is no such container: another caller has let it run
 * and may have put it to rest since, and a start without its checkpoint would lose its processes. The sandbox is held meanwhile, so that no end comes between.
 */
export function startKnown({ engine, rows }: Parts, row: SandboxRow, container: string): Promise<boolean> {
  return rows.hold(row.sandboxId, 'shared', async (now) => isSame(row, now) && engine.start(container));
}

/** Ends the processes of the row's container while the sandbox is held alone. False when the row has changed. */
export function stopKnown({ engine, rows }: Parts, row: SandboxRow): Promise<boolean> {
  return rows.hold(row.sandboxId, 'alone', async (now) => {
    if (!isSame(row, now)) return false;
    await engine.stop(row.containerName);
    return true;
  });
}

/** Waits until no container of a sandbox is being started or ended for an older row than the newest one, which it returns. */
export function pastMoves({ rows }: Pick<Parts, 'rows'>, sandboxId: string): Promise<SandboxRow | undefined> {
  return rows.hold(sandboxId, 'alone', async (row) => row);
}

/** A row that was made again with the same id begins with the same generation, and has another number. */
function isSame({ generation, fence }: SandboxRow, now: SandboxRow | undefined): boolean {
  return now?.generation === generation && now.fence === fence;
}
