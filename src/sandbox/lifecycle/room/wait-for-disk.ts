import { failure } from '../../../contracts/errors.ts';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import { needsOf } from '../../../contracts/hosts/needs.ts';
import type { HostDisk } from '../../../store/service/fleet.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { rowOf } from './row-of.ts';
import { neededBytes } from './wait-for-room.ts';
import { joinQueue } from './with-room.ts';

const MEBIBYTE = 2 ** 20;

/**
 * Passes when this host has disk for a sandbox that is not on it yet.
 * @throws HOST_DISK_FULL when the caller has to come again, HOST_DISK_WAIT_OVER
 */
export async function checkDisk(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  const disk = await context.disk();
  if (!disk?.isShort) return;
  const row = await rowOf(context, owner);
  if (row === undefined || row.state === 'archived') throw await waitForDisk(context, owner, options, { hostId: context.hostId, disk });
}

/** Joins the queue, or keeps its place. Returns the error that tells the caller when to ask again, or that it must not. */
export function waitForDisk(
  context: DockerContext,
  { sandboxId, conversationId, tenantId }: SandboxOwner,
  options: SandboxOptions,
  { hostId: host, disk }: { hostId: string; disk: HostDisk },
): Promise<Error> {
  const [freeMb, leastMb] = [Math.floor(disk.freeBytes / MEBIBYTE), Math.ceil(disk.againBytes / MEBIBYTE)];
  const waits = { neededMb: neededBytes(options) / MEBIBYTE, host, promisedMb: 0, allowedMb: 0, ahead: 0, disk: { freeMb, leastMb } };
  const asking = { sandboxId, ...(conversationId !== undefined && { conversationId }), tenantId, ...needsOf(options), anywhere: true };
  return joinQueue(context, asking, waits, {
    again: failure('HOST_DISK_FULL', { sandboxId, host, freeMb, leastMb }),
    over: (waited) => failure('HOST_DISK_WAIT_OVER', { sandboxId, waited, host, freeMb, leastMb }),
  });
}
