import { randomBytes } from 'node:crypto';
import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { WarmPool } from '../../../contracts/host-facts.ts';
import { startNew } from '../make/new-container.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from '../remove/destroy.ts';
import { containerNameOf, volumeNameOf } from '../../engine/labels.ts';
import { answers } from './answers.ts';
import { retire } from './drain-pools.ts';

const ANSWER_MS = 10_000;

/**
 * Brings a pool to its size: removes sandboxes that do not answer, then makes the missing ones. Several workers of a host may do this at the same time: the
 * slots limit the number of sandboxes, and a worker finishes a sandbox that another one has left unfinished.
 */
export async function fillPool(context: DockerContext, pool: WarmPool, key: string, signal: AbortSignal): Promise<void> {
  const { poolRows, pools, hostId } = context;
  for (const row of await poolRows.list(hostId, key)) {
    if (row.state === 'warm' && !(await isHealthy(context, row))) await retire(context, row, 'it does not answer');
  }
  await addMissing(context, pool, key);
  for (const row of await poolRows.list(hostId, key)) {
    // A host that is being drained since makes none.
    if (signal.aborted || context.lease.state().isDraining) return;
    if (row.state === 'creating') await build(context, row);
  }
  pools.met.set(
    key,
    (await poolRows.list(hostId, key)).map(({ sandboxId }) => sandboxId),
  );
}

async function addMissing(context: DockerContext, { options, size }: WarmPool, key: string): Promise<void> {
  const { poolRows, hostId, installation } = context;
  const taken = new Set((await poolRows.list(hostId, key)).map(({ pool }) => pool?.slot));
  for (let slot = 1; slot <= size; slot += 1) {
    if (taken.has(slot)) continue;
    const sandboxId = `sbx_warm_${randomBytes(8).toString('hex')}`;
    const names = { containerName: containerNameOf(installation, sandboxId), volumeName: volumeNameOf(installation, sandboxId) };
    if ((await context.disk())?.isShort) return;
    if (!(await hasRoom(() => poolRows.add({ sandboxId, hostId, ...names, options: { ...options } }, { key, slot })))) return;
  }
}

/** A pool takes no memory that another sandbox waits for, or that the host does not have. */
async function hasRoom(add: () => Promise<void>): Promise<boolean> {
  try {
    await add();
    return true;
  } catch (error) {
    if (isFailure(error, 'HOST_FULL')) return false;
    throw error;
  }
}

async function isHealthy(context: DockerContext, row: SandboxRow): Promise<boolean> {
  const container = await context.engine.inspect(row.containerName);
  // The call also keeps this process's connection to the sandbox open, which a claim then uses.
  return container?.status === 'running' && (await answers(context, row, ANSWER_MS));
}

async function build(context: DockerContext, row: SandboxRow): Promise<void> {
  const { rows, log } = context;
  const { sandboxId, generation } = row;
  const containerId = await startNew(context, row);
  const isUp = containerId !== undefined && (await answers(context, row, ANSWER_MS));
  if (isUp && (await rows.change(sandboxId, generation, { state: 'warm', containerId }))) {
    log.info({ sandboxId }, 'sandbox is warm');
    return;
  }
  const now = await rows.get(sandboxId);
  // Retired while its container was being made: the worker that retired it may have found no container to remove.
  if (now?.state === 'destroyed') await destroy(context, sandboxId);
  else if (now?.generation === generation) await retire(context, row, 'it did not start');
}
