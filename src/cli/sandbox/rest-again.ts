import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { ownerOf } from './held.ts';
import type { Desk } from './with-sandboxes.ts';

/** Lets a sandbox rest as it was found: whoever put it to rest does not look at it again. What runs in it, or is at work in it by now, is not ended. */
export async function restAgain(desk: Desk, { sandboxId, state, paused }: SandboxRow, handle: SandboxHandle): Promise<void> {
  if (!(await isFree(desk, sandboxId))) return;
  const { sandboxes } = desk;
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

/** Whether it runs and its conversation is not at work in it. */
async function isFree(desk: Desk, sandboxId: string): Promise<boolean> {
  const row = await desk.store.sandboxes.get(sandboxId);
  return row?.state === 'running' && (await ownerOf(desk, row))?.state !== 'running';
}

async function hasRunning(handle: SandboxHandle): Promise<boolean> {
  return (await handle.execs()).some(({ state }) => state === 'running');
}
