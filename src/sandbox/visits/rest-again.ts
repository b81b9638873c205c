import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import type { Sandboxes } from '../api/host-sandboxes.ts';
import type { SandboxHandle } from '../api/sandbox.ts';
import { ownerOf, workerIn } from './held.ts';

const FREEZE_TRIES = 20;
const FREEZE_AGAIN_MS = 100;

export interface VisitParts {
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  sandboxes: Sandboxes;
}

/**
 * Returns a sandbox to the tier in which it was found, because no process will put it to rest later. Commands that run in it, or a conversation that now works
 * in it, are not stopped. Without a handle, since its open has failed, it is not known what runs in it.
 */
export async function restAgain(parts: VisitParts, { sandboxId, state, paused }: SandboxRow, handle: SandboxHandle | undefined): Promise<void> {
  if (!(await isFree(parts, sandboxId))) return;
  const { sandboxes } = parts;
  switch (state) {
    case 'frozen':
      for (let tries = 1; tries <= FREEZE_TRIES; tries += 1) {
        // A visit that was broken off may still read, for a moment; a sandbox in which work is under way is not frozen.
        if ((await sandboxes.freeze(sandboxId, { mode: paused ? 'pause' : 'idle' })) !== 'running') return;
        await sleep(FREEZE_AGAIN_MS);
        if (!(await isFree(parts, sandboxId))) return;
      }
      return;
    case 'hibernated':
      await sandboxes.hibernate(sandboxId, { otherwise: 'stay' });
      return;
    case 'stopped':
      if (await isFreeOfCommands(handle)) await sandboxes.stop(sandboxId);
      return;
    case 'archived':
      if (await isFreeOfCommands(handle)) await sandboxes.archive(sandboxId);
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

async function isFreeOfCommands(handle: SandboxHandle | undefined): Promise<boolean> {
  return handle !== undefined && !(await handle.execs()).some(({ state }) => state === 'running');
}
