import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import type { SandboxHandle } from '../api/sandbox.ts';
import { ownerOf, workerIn } from './held.ts';

export interface VisitParts {
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  sandboxes: Sandboxes;
}

/**
 * Returns a sandbox to the tier in which it was found, because no process will put it to rest later. Commands that run in it, or a conversation that now works
 * in it, are not stopped.
 */
export async function restAgain(parts: VisitParts, { sandboxId, state, paused }: SandboxRow, handle: SandboxHandle): Promise<void> {
  if (!(await isFree(parts, sandboxId))) return;
  const { sandboxes } = parts;
  switch (state) {
    case 'frozen':
      await sandboxes.freeze(sandboxId, { mode: paused ? 'pause' : 'idle' });
      return;
    case 'hibernated':
      await sandboxes.hibernate(sandboxId, { otherwise: 'stay' });
      return;
    case 'stopped':
      if (!(await hasRunning(handle))) await sandboxes.stop(sandboxId);
      return;
    case 'archived':
      if (!(await hasRunning(handle))) await sandboxes.archive(sandboxId);
      return;
    default:
  }
}

/** True when it is running and no conversation is working in it. */
async function isFree(parts: VisitParts, sandboxId: string): Promise<boolean> {
  const row = await parts.store.sandboxes.get(sandboxId);
  if (row?.state !== 'running') return false;
  const owner = await ownerOf(parts, row);
  return !owner || (await workerIn(parts, owner)) === undefined;
}

async function hasRunning(handle: SandboxHandle): Promise<boolean> {
  return (await handle.execs()).some(({ state }) => state === 'running');
}
