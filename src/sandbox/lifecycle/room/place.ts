import { failure } from '../../../contracts/errors.ts';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import { DEFAULT_MEMORY_MB } from '../../../contracts/host-facts.ts';
import type { Candidate } from '../../../store/service/fleet.ts';
import { elsewhereFailure } from '../../api/elsewhere.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fullAs, queueForRoom } from './with-room.ts';

/** A sandbox is made where it was asked for, unless this host is fuller than the emptiest one by more than this part of its memory. */
const SLACK = 0.1;
const MEBIBYTE = 2 ** 20;

/**
 * Decides whether a sandbox that is on no host is made here. While no other host is there, this costs nothing.
 * @throws SANDBOX_UNREACHABLE with another host, which is to make it; NO_HOST when all that are there are being drained or lack the runtime; HOST_FULL when none has
 * the memory for it now; HOST_WAIT_OVER; SANDBOX_TOO_LARGE
 */
export async function checkPlace(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  const { fleet, lease, hostId, lostAfterMs } = context;
  const { isDraining, hasOthers } = lease.state();
  if (!isDraining && !hasOthers) return;
  const { sandboxId, conversationId, tenantId } = owner;
  const { memoryMb = DEFAULT_MEMORY_MB, runtime } = options;
  const wanted = { sandboxId, ...(conversationId !== undefined && { conversationId }), ...(runtime === 'runsc' && { runtime }) };
  const all = await fleet.candidates(wanted, lostAfterMs);
  const candidates = all.filter(({ roomBytes = Infinity }) => roomBytes >= memoryMb * MEBIBYTE);
  const [first] = candidates;
  if (!first) {
    const largest = largestOf(all);
    if (!largest) return refuseWhileDraining(context, owner);
    throw await queueForRoom(context, { tenantId, ...wanted, anywhere: true }, fullAs(sandboxId, memoryMb, largest));
  }
  const own = candidates.find((candidate) => candidate.hostId === hostId);
  if (own && own.load <= first.load + SLACK) return;
  throw elsewhereFailure({ sandboxId, host: first.hostId, waitMs: lostAfterMs }, hostId);
}

/** The host that may promise most. */
function largestOf(candidates: Candidate[]): Candidate | undefined {
  return candidates.toSorted((one, other) => (other.allowedBytes ?? 0) - (one.allowedBytes ?? 0))[0];
}

/** There are no candidates for a sandbox that has its place, either. */
async function refuseWhileDraining({ rows, lease, hostId: host }: DockerContext, { sandboxId, conversationId }: SandboxOwner): Promise<void> {
  if (!lease.state().isDraining) return;
  const row = (conversationId === undefined ? undefined : await rows.ofConversation(conversationId)) ?? (await rows.get(sandboxId));
  if (row === undefined || row.state === 'archived') throw failure('NO_HOST', { sandboxId, host });
}
