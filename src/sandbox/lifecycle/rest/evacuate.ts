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
    case 'creating':
      return removeWarm(context, row);
    case 'lost':
      return packLost(context, row);
    case 'running':
      await freeze(context, sandboxId, 'idle');
      return evacuateFrozen(context, await ownRow(context, sandboxId), inUse);
    case 'frozen':
      return evacuateFrozen(context, row, inUse);
    case 'hibernated':
      return packHibernated(context, row, inUse);
    case 'stopped':
      return pack(context, sandboxId);
    default:
      return row.state satisfies never;
  }
}

/** One that is being made for a conversation is left to who makes it. */
async function removeWarm(context: DockerContext, { sandboxId, pool }: SandboxRow): Promise<Evacuated> {
  if (pool?.slot === undefined) return 'in use';
  await destroy(context, sandboxId);
  return 'moved';
}

/** Its files go. What its processes lost was said when they ended, and its journal says the rest. */
async function packLost(context: DockerContext, { sandboxId, generation }: SandboxRow): Promise<Evacuated> {
  return (await context.rows.change(sandboxId, generation, { state: 'stopped' })) ? pack(context, sandboxId) : 'in use';
}

/** Its processes end, if they cannot be copied. */
async function packHibernated(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  if (await canCopyMemory(context)) return pack(context, row.sandboxId);
  return (await inUse()) === 'no' ? endAndPack(context, row) : 'holds calls';
}

async function evacuateFrozen(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  const { sandboxId } = row;
  if (row.state !== 'frozen') return 'in use';
  const use = await inUse();
  if (use === 'works' && row.paused !== true) return 'in use';
  if ((await canCopyMemory(context)) && (await hibernate(context, sandboxId, 'stay')) === 'hibernated') return pack(context, sandboxId);
  if (use !== 'no') return 'holds calls';
  return freezeAndEnd(context, sandboxId, inUse);
}

/** Moves the files only. */
async function freezeAndEnd(context: DockerContext, sandboxId: string, inUse: InUse): Promise<Evacuated> {
  // A checkpoint that failed has let it run again.
  if ((await freeze(context, sandboxId, 'idle')) !== 'frozen') return 'in use';
  const row = await ownRow(context, sandboxId);
  return row.state === 'frozen' && (await inUse()) === 'no' ? endAndPack(context, row) : 'in use';
}

/** Unless its row has changed. */
async function endAndPack(context: DockerContext, { sandboxId, generation }: SandboxRow): Promise<Evacuated> {
  const stopped = await context.rows.change(sandboxId, generation, { state: 'stopped' });
  return stopped && (await endProcesses(context, stopped)) ? pack(context, sandboxId) : 'in use';
}

/** Without ending what has been started meanwhile. */
async function pack(context: DockerContext, sandboxId: string): Promise<Evacuated> {
  return (await archive(context, sandboxId, 'stay')) === 'archived' ? 'moved' : 'in use';
}
