import type { SandboxHandle } from '../../sandbox/sandbox.ts';
import type { SandboxRow } from '../../store/store.ts';
import { ownerOf } from './held.ts';
import type { Desk } from './with-sandboxes.ts';

/** Lets a sandbox rest as it was found: whoever put it to rest does not look at it again. What runs in it, or is at work in it by now, is not ended. */
export async function restAgain(desk: Desk, found: SandboxRow, handle: SandboxHandle, outcome: 'done' | 'goes-on'): Promise<void> {
  const { sandboxes, store } = desk;
  const { sandboxId, state } = found;
  if (state === 'running' || state === 'creating' || state === 'lost') return;
  const now = await store.sandboxes.get(sandboxId);
  if (now?.state !== 'running' || (await ownerOf(desk, now))?.state === 'running') return;
  if (state === 'frozen') await sandboxes.freeze(sandboxId);
  else if (state === 'hibernated') await sandboxes.hibernate(sandboxId, { otherwise: 'stay' });
  else if (outcome === 'done' && !(await hasRunning(handle))) await (state === 'archived' ? sandboxes.archive(sandboxId) : sandboxes.stop(sandboxId));
}

async function hasRunning(handle: SandboxHandle): Promise<boolean> {
  return (await handle.execs()).some(({ state }) => state === 'running');
}
