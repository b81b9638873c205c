import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { destroy } from '../remove/destroy.ts';
import type { Evacuated, InUse } from '../../api/evacuation.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { archive } from './archive.ts';
import { freeze } from './freeze.ts';
import { hibernate } from './hibernate.ts';
import { endProcesses } from './stop.ts';

/**
 * Takes a sandbox from this host, as a step of draining it: it is packed into the blob store, with its processes where that is possible. A sandbox in use is left as
 * it is. It is frozen first: what begins to use it then changes its row, and is noticed.
 */
export async function evacuate(context: DockerContext, sandboxId: string, inUse: InUse): Promise<Evacuated> {
  const row = await ownRow(context, sandboxId);
  switch (row.state) {
    case 'archived':
    case 'destroyed':
      return 'moved';
    case 'warm':
      await destroy(context, sandboxId);
      return 'moved';
    case 'creating':
      if (row.pool?.slot === undefined) return 'in use';
      await destroy(context, sandboxId);
      return 'moved';
    case 'lost':
      // Its files go; what its processes lost was said when they ended, and its journal says the rest.
      return (await context.rows.change(sandboxId, row.generation, { state: 'stopped' })) ? pack(context, sandboxId) : 'in use';
    case 'running':
      if ((await freeze(context, sandboxId, 'idle')) !== 'frozen') return 'in use';
      return evacuateFrozen(context, await ownRow(context, sandboxId), inUse);
    case 'frozen':
      return evacuateFrozen(context, row, inUse);
    case 'hibernated':
      // Its processes would end, if they cannot be copied.
      if (!(await canCopyMemory(context)) && (await inUse()) !== 'no') return 'holds calls';
      return pack(context, sandboxId);
    case 'stopped':
      return pack(context, sandboxId);
    default:
      return row.state satisfies never;
  }
}

async function evacuateFrozen(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  const { sandboxId } = row;
  if (row.state !== 'frozen') return 'in use';
  const use = await inUse();
  if (use === 'works' && row.paused !== true) return 'in use';
  if ((await canCopyMemory(context)) && (await hibernate(context, sandboxId, 'stay')) === 'hibernated') return pack(context, sandboxId);
  if (use !== 'no') return 'holds calls';
  return endAndPack(context, sandboxId, inUse);
}

/** Moves the files only. */
async function endAndPack(context: DockerContext, sandboxId: string, inUse: InUse): Promise<Evacuated> {
  // A checkpoint that failed has let it run again.
  if ((await freeze(context, sandboxId, 'idle')) !== 'frozen') return 'in use';
  const row = await ownRow(context, sandboxId);
  if (row.state !== 'frozen' || (await inUse()) !== 'no') return 'in use';
  const stopped = await context.rows.change(sandboxId, row.generation, { state: 'stopped' });
  return stopped && (await endProcesses(context, stopped)) ? pack(context, sandboxId) : 'in use';
}

/** Without ending what has been started meanwhile. */
async function pack(context: DockerContext, sandboxId: string): Promise<Evacuated> {
  return (await archive(context, sandboxId, 'stay')) === 'archived' ? 'moved' : 'in use';
}
