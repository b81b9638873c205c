import type { SandboxOptions } from '../../../contracts/agent.ts';
import { DEFAULT_MEMORY_MB } from '../../../contracts/host-facts.ts';
import { needsOf } from '../../../contracts/hosts/needs.ts';
import type { Candidate } from '../../../store/service/fleet.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fullAs, queueForRoom } from './with-room.ts';

const MEBIBYTE = 2 ** 20;

export function neededBytes({ memoryMb = DEFAULT_MEMORY_MB }: SandboxOptions): number {
  return memoryMb * MEBIBYTE;
}

/** Whether a host has the memory for the sandbox now, for which no others wait longer. */
export function hasRoomFor(options: SandboxOptions): (candidate: Candidate) => boolean {
  const needed = neededBytes(options);
  return ({ roomBytes = Infinity, ahead = 0 }) => ahead === 0 && roomBytes >= needed;
}

/** Joins the queue for memory of any of these hosts, or keeps its place. Returns the error that tells the caller when to ask again, or that it must not. */
export async function waitForRoom(context: DockerContext, { sandboxId, conversationId, tenantId }: SandboxOwner, options: SandboxOptions, full: Candidate[]) {
  const [largest] = full.toSorted((one, other) => (other.allowedBytes ?? 0) - (one.allowedBytes ?? 0));
  const asking = { sandboxId, ...(conversationId !== undefined && { conversationId }), tenantId, ...needsOf(options), anywhere: true };
  return queueForRoom(context, asking, fullAs(sandboxId, neededBytes(options) / MEBIBYTE, largest ?? { hostId: context.hostId }));
}
