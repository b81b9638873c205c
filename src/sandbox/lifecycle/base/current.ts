import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { ContainerState, OwnedThing } from '../../engine/engine.ts';
import { fenceOf } from '../../engine/labels.ts';

/** Whether the container is the one that may act for the sandbox. One with its name and another number is left from before the sandbox got a newer one. */
export function isCurrent({ fence }: Pick<SandboxRow, 'fence'>, container: ContainerState | undefined): container is ContainerState {
  return container !== undefined && fenceOf(container.labels) === fence;
}

/**
 * Refuses a container that may not act for the sandbox any more, before anything is sent to it.
 * @throws SANDBOX_SUPERSEDED
 */
export function refuseSuperseded(row: SandboxRow, container: ContainerState, hostId: string): void {
  const { sandboxId } = row;
  if (row.hostId !== hostId) throw failure('SANDBOX_SUPERSEDED', { sandboxId, problem: `it is on host "${row.hostId}" now, and this is "${hostId}"` });
  const fence = fenceOf(container.labels);
  if (fence === row.fence) return;
  const problem = `its row names container number ${row.fence}, and this is number ${fence}`;
  throw failure('SANDBOX_SUPERSEDED', { sandboxId, problem });
}

/** Whether a newer container has taken its place for good, on this host or another. The volume that the sandbox has is kept whatever its number is. */
export function isSuperseded({ id, name, fence }: OwnedThing, row: SandboxRow, hostId: string): boolean {
  const isItsVolume = id === undefined && name === row.volumeName && row.hostId === hostId;
  return fence < row.fence && !isItsVolume;
}
