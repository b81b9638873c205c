import type { SandboxOptions } from '../../../contracts/agent.ts';
import { failure } from '../../../contracts/errors.ts';
import type { Candidate } from '../../../store/service/fleet.ts';
import { elsewhereFailure } from '../../api/elsewhere.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fitsHere } from '../base/fits-here.ts';
import { rowOf } from './row-of.ts';
import { haveDisk, sendAway, wantedFor, type Leaving } from './send-away.ts';
import { checkDisk } from './wait-for-disk.ts';
import { hasRoomFor, waitForRoom } from './wait-for-room.ts';

/** A sandbox is made where it was asked for, unless this host is fuller than the emptiest one by more than this part of its memory. */
const SLACK = 0.1;

/**
 * Decides whether a sandbox that is on no host is made here. While no other host is there, and this one has what is needed, this costs no statement.
 * @throws HOST_DISK_FULL, HOST_DISK_WAIT_OVER; SANDBOX_UNREACHABLE with another host, which is to make it; NO_HOST when all that are there are being drained or lack the runtime; HOST_FULL when none has
 * the memory for it now; HOST_WAIT_OVER; SANDBOX_TOO_LARGE; NO_FITTING_HOST, HOSTS_AWAY
 * @returns a sandbox that rests here and has to be archived, so that the host can have it that the error names
 */
export async function checkPlace(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<Leaving | undefined> {
  const { fleet, lease, hostId, lostAfterMs } = context;
  if (!(await fitsHere(context, options))) return sendAway(context, owner, options);
  const { isDraining, hasOthers } = lease.state();
  if (!owner.mayMove || (!isDraining && !hasOthers)) {
    await checkDisk(context, owner, options);
    return undefined;
  }
  const { sandboxId } = owner;
  const known = await withOwnDisk(context, await fleet.candidates(wantedFor(context, owner, options), lostAfterMs));
  const all = await haveDisk(context, owner, options, known);
  const candidates = all.filter(hasRoomFor(options));
  const [first] = candidates;
  if (!first) {
    if (all.length === 0) return refuseWhileDraining(context, owner);
    throw await waitForRoom(context, owner, options, all);
  }
  const own = candidates.find((candidate) => candidate.hostId === hostId);
  if (own && isAsGood(own, first)) return undefined;
  throw elsewhereFailure({ sandboxId, host: first.hostId, waitMs: lostAfterMs }, hostId);
}

/** What this host has said of its disk is older than what this process knows. A host that would send the sandbox back here has to know it, too. */
async function withOwnDisk({ disk, fleet, hostId }: DockerContext, candidates: Candidate[]): Promise<Candidate[]> {
  const own = await disk();
  if (own === undefined) return candidates;
  if (own.isShort && candidates.some((candidate) => candidate.hostId === hostId && !candidate.shortDisk)) await fleet.noteDisk(hostId, own);
  return candidates.map(({ shortDisk, ...candidate }) => {
    const known = candidate.hostId === hostId ? (own.isShort ? own : undefined) : shortDisk;
    return { ...candidate, ...(known && { shortDisk: known }) };
  });
}

/** Of two that are equal but for their load, the one that was asked saves the way to the other one. */
function isAsGood(own: Candidate, first: Candidate): boolean {
  return own.hasWarm === first.hasWarm && own.lacksImage === first.lacksImage && own.load <= first.load + SLACK;
}

/** There are no candidates for a sandbox that has its place, either. */
async function refuseWhileDraining(context: DockerContext, owner: SandboxOwner): Promise<undefined> {
  const { lease, hostId: host } = context;
  if (!lease.state().isDraining) return undefined;
  const row = await rowOf(context, owner);
  if (row === undefined || row.state === 'archived') throw failure('NO_HOST', { sandboxId: owner.sandboxId, host });
  return undefined;
}
