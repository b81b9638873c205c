import type { Duplex } from 'node:stream';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow, SandboxState } from '../../../store/sandbox-rows.ts';
import type { Store } from '../../../store/store.ts';
import { applyRow } from './apply-row.ts';
import { refuseSuperseded } from './current.ts';
import { describeDeath } from './describe-loss.ts';
import type { ContainerState, Engine } from '../../engine/engine.ts';
import { pause } from '../../../common/pause.ts';

export type StreamTarget = Pick<SandboxRow, 'sandboxId' | 'containerName'>;

export interface OpenStreamDeps {
  engine: Engine;
  rows: Store['sandboxes'];
  hostId: string;
}

/** A stream to a supervisor, and the number of its container. */
export interface OpenedStream {
  stream: Duplex;
  fence: number;
}

const RESTING: ReadonlySet<ContainerState['status']> = new Set(['paused', 'hibernated']);
const FROZEN_POLL_MS = { first: 50, longest: 1000 };

/**
 * Opens a stream to the supervisor of a container that should run. A frozen container is thawed only when its row is `running`. While the row is
 * `frozen` or `hibernated`, this waits until a caller wakes the sandbox or `closing` is aborted.
 * @throws SANDBOX_LOST when the container does not run any more; SANDBOX_SUPERSEDED when it is not the one of the row.
 */
export async function openStream(deps: OpenStreamDeps, target: StreamTarget, closing: AbortSignal): Promise<OpenedStream> {
  for (let delay = FROZEN_POLL_MS.first; ; delay = Math.min(delay * 2, FROZEN_POLL_MS.longest)) {
    // A bridge into a container that is being checkpointed or copied would prevent that.
    const resting = isResting(await deps.rows.get(target.sandboxId));
    const opened = resting ? undefined : await openBridge(deps, target);
    if (closing.aborted) {
      opened?.stream.destroy();
      throw failure('SANDBOX_UNREACHABLE', { sandboxId: target.sandboxId, problem: 'the connection was closed' });
    }
    if (opened !== undefined) return opened;
    if (resting || (await findObstacle(deps, target)) === 'frozen') await pause(delay, closing);
  }
}

/**
 * Holds the sandbox meanwhile: if the container were frozen while the engine starts a program in it, both would wait for each other without end, and nothing could
 * thaw or remove the container any more. The bridge is opened by the container's id: another one may get its name meanwhile.
 */
function openBridge({ engine, rows, hostId }: OpenStreamDeps, { sandboxId, containerName }: StreamTarget): Promise<OpenedStream | undefined> {
  return rows.hold(sandboxId, 'shared', async (row) => {
    const container = isResting(row) ? undefined : await engine.inspect(containerName);
    if (container?.status !== 'running') return undefined;
    if (row === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
    refuseSuperseded(row, container, hostId);
    const stream = await engine.openBridge(container.id);
    return stream && { stream, fence: row.fence };
  });
}

function isResting(row: SandboxRow | undefined): boolean {
  return row?.state === 'hibernated' || row?.state === 'frozen';
}

/** Why no stream could be opened: the sandbox is frozen on purpose; or the obstacle has passed, and the caller tries again. */
async function findObstacle({ engine, rows }: OpenStreamDeps, { sandboxId, containerName }: StreamTarget): Promise<'frozen' | 'passed'> {
  const container = await engine.inspect(containerName);
  const state = (await rows.get(sandboxId))?.state;
  if (state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
  if (container?.status === 'running') return 'passed';
  if (container === undefined || !RESTING.has(container.status) || state === 'stopped' || state === 'lost') throw lost(sandboxId, state, container);
  // The worker that hibernates it finds that the row was changed meanwhile, and wakes it again.
  if (state !== 'running' || container.status === 'hibernated') return 'frozen';
  await applyRow({ engine, rows }, sandboxId);
  return 'passed';
}

function lost(sandboxId: string, state: SandboxState | undefined, container: ContainerState | undefined): Error {
  const problem = state === 'stopped' ? 'it was stopped' : state === 'archived' ? 'it was archived' : describeDeath(container);
  return failure('SANDBOX_LOST', { sandboxId, problem });
}
