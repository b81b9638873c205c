import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from './docker-context.ts';

type Parts = Pick<DockerContext, 'engine' | 'rows'>;

/**
 * Starts a container that this caller has not made itself. False when the row has changed, or when there is no such container: another caller has let it run
 * and may have put it to rest since, and a start without its checkpoint would lose its processes. The sandbox is held meanwhile, see `pastStarts`.
 */
export function startKnown({ engine, rows }: Parts, { sandboxId, generation, fence }: SandboxRow, container: string): Promise<boolean> {
  return rows.hold(sandboxId, 'shared', async (now) => now?.generation === generation && now.fence === fence && engine.start(container));
}

/**
 * Waits until no container is being started for an older row than the newest one, which it returns. Who ends the processes of a sandbox changes the row first and
 * calls this, so that no start comes after the end.
 */
export function pastStarts({ rows }: Pick<Parts, 'rows'>, sandboxId: string): Promise<SandboxRow | undefined> {
  return rows.hold(sandboxId, 'alone', async (row) => row);
}
