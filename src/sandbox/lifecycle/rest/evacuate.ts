import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { retire } from '../pool/drain-pools.ts';
import { removeContents } from '../remove/remove-contents.ts';
import type { Evacuated, InUse } from '../../api/evacuation.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { archive } from './archive.ts';
import { bringUpSandbox } from './bring-up-sandbox.ts';
import { freeze } from './freeze.ts';
import { hibernate } from './hibernate.ts';
import { endProcesses } from './stop.ts';

/** A process thaws a sandbox in which it works within this time after it was frozen: longer than the longest delay between its checks (`create-work.ts`). Milliseconds. */
const THAWED_MS = 8_000;
/** What makes a sandbox has died when it is not made after this time. Milliseconds. */
const MAKING_MS = 300_000;

/**
 * Takes a sandbox from this host, as a step of draining it: it is packed into the blob store, with its processes where that is possible. A sandbox in use is left as
 * it is. One that runs is frozen first, and taken in a later step: what other processes do in it, and what begins to use it, changes its row and is noticed.
 */
export async function evacuate(context: DockerContext, sandboxId: string, inUse: InUse): Promise<Evacuated> {
  const row = await ownRow(context, sandboxId);
  switch (row.state) {
    case 'archived':
    case 'destroyed':
      return 'moved';
    case 'warm':
    case 'creating':
      return removeUnclaimed(context, row, inUse);
    case 'lost':
    case 'stopped':
      return packFiles(context, row);
    case 'running':
      return freezeUnused(context, sandboxId, inUse);
    case 'frozen':
      return evacuateFrozen(context, row, inUse);
    case 'hibernated':
      return packHibernated(context, row, inUse);
    default:
      return row.state satisfies never;
  }
}

/** A warm one, unless a conversation gets it meanwhile. One that is being made for a conversation is left to who makes it; nothing has been done in it yet, so that its next open may begin anew. */
async function removeUnclaimed(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  if (row.pool?.slot !== undefined) return (await retire(context, row, 'its host is being drained')) ? 'moved' : 'in use';
  if (row.idleMs < MAKING_MS || (await inUse()) !== 'no') return 'in use';
  if (!(await context.rows.withdraw(row.sandboxId, row.generation))) return 'in use';
  await removeContents(context, row);
  return 'moved';
}

/** Its files go. What its processes lost was said when they ended, and its journal says the rest. One without files is made anew first, which says what is lost. */
async function packFiles(context: DockerContext, { sandboxId, generation, state, volumeName }: SandboxRow): Promise<Evacuated> {
  if (!(await context.engine.volumeExists(volumeName))) {
    await bringUpSandbox(context, sandboxId, 'open');
    return 'in use';
  }
  return state === 'stopped' || (await context.rows.change(sandboxId, generation, { state: 'stopped' })) ? pack(context, sandboxId) : 'in use';
}

async function freezeUnused(context: DockerContext, sandboxId: string, inUse: InUse): Promise<Evacuated> {
  if ((await inUse()) === 'works') return 'in use';
  return (await freeze(context, sandboxId, 'idle')) === 'frozen' ? 'frozen' : 'in use';
}

/** Its processes end, if they cannot be copied. */
async function packHibernated(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  if (await canCopyMemory(context)) return pack(context, row.sandboxId);
  return (await inUse()) === 'no' ? endAndPack(context, row) : 'holds calls';
}

async function evacuateFrozen(context: DockerContext, row: SandboxRow, inUse: InUse): Promise<Evacuated> {
  const { sandboxId } = row;
  if (row.idleMs < THAWED_MS) return 'in use';
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
