import type { SandboxOptions } from '../../../contracts/agent.ts';
import { failure } from '../../../contracts/errors.ts';
import { needsOf, type HostNeeds } from '../../../contracts/hosts/needs.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { Candidate, KnownHost, Wanted } from '../../../store/service/fleet.ts';
import { elsewhereFailure, elsewhereOf } from '../../api/elsewhere.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { fitsHere } from '../base/fits-here.ts';
import { hasAll, hostsAway, listed, wordsOf } from './hosts-away.ts';
import { rowOf } from './row-of.ts';
import { waitForDisk } from './wait-for-disk.ts';
import { hasRoomFor, neededBytes, waitForRoom } from './wait-for-room.ts';

/** As `sendAway`, for a caller that may need no sandbox: where no other host can have it, nothing is said. */
export async function checkFits(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  const fits = await fitsHere(context, options);
  if (fits && !context.lease.state().isDraining) return;
  await (fits ? sendFromDrained(context, owner, options) : sendAway(context, owner, options)).catch((error: unknown) => {
    if (elsewhereOf(error)) throw error;
  });
}

/** @throws SANDBOX_UNREACHABLE with the host that is to have a sandbox which is on none, since this one is being drained */
async function sendFromDrained(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  const { fleet, hostId, lostAfterMs } = context;
  const chosen = chooseFrom(await fleet.candidates(wantedFor(context, owner, options), lostAfterMs), owner, options);
  // Where this host is among them, its draining has ended.
  if (!chosen || chosen.hostId === hostId) return;
  throw elsewhereFailure({ sandboxId: owner.sandboxId, host: chosen.hostId, waitMs: lostAfterMs }, hostId, `host "${hostId}" is being drained`);
}

/** A sandbox that rests on this host and is to be had by another one. */
export interface Leaving {
  sandboxId: string;
  /** SANDBOX_UNREACHABLE with the host that is to have it. */
  to: Error;
}

/**
 * Finds the host for a sandbox that this one may not have. One that is on a host which is there stays on it, unless it rests here and another one can have it.
 * @throws SANDBOX_UNREACHABLE with the host that is to have it; NO_FITTING_HOST when none is known; HOSTS_AWAY when those that are known take none now; HOST_FULL,
 * HOST_WAIT_OVER, HOST_DISK_FULL, HOST_DISK_WAIT_OVER, SANDBOX_TOO_LARGE for a caller that can ask another host
 */
export async function sendAway(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<Leaving | undefined> {
  const { fleet, hostId, lostAfterMs } = context;
  const row = await rowOf(context, owner);
  if (row && (await staysOn(context, row))) return undefined;
  const wanted = { ...wantedFor(context, owner, options), ...(row && { leaves: row.hostId }) };
  const known = await fleet.candidates(wanted, lostAfterMs);
  // A worker of this host has said that it has what this process does not know of.
  if (known.some((candidate) => candidate.hostId === hostId)) return undefined;
  const isHere = row !== undefined && row.state !== 'archived' && row.hostId === hostId;
  const chosen = chooseFrom(known, owner, options);
  if (!chosen && isHere) return undefined;
  if (!chosen) throw await whyNone(context, owner, options, known);
  const why = `it needs a host that has ${wordsOf(needsOf(options))}, such as "${chosen.hostId}"`;
  const to = elsewhereFailure({ sandboxId: owner.sandboxId, host: chosen.hostId, waitMs: lostAfterMs }, hostId, why);
  if (!isHere) throw to;
  return { sandboxId: row.sandboxId, to };
}

/** Those that have disk for it. @throws HOST_DISK_FULL, HOST_DISK_WAIT_OVER when there are only others, or only they may ever promise its memory */
export async function haveDisk(context: DockerContext, owner: SandboxOwner, options: SandboxOptions, candidates: Candidate[]): Promise<Candidate[]> {
  const able = candidates.filter(({ shortDisk }) => !shortDisk);
  const isLarge = isLargeFor(options);
  if (able.some(isLarge)) return able;
  const first = candidates.find((candidate) => candidate.shortDisk && isLarge(candidate)) ?? (able.length === 0 ? candidates[0] : undefined);
  if (first?.shortDisk) throw await waitForDisk(context, owner, options, { hostId: first.hostId, disk: first.shortDisk });
  return able;
}

/** Whether a host could have the sandbox, if nothing else were on it. */
function isLargeFor(options: SandboxOptions): (candidate: Candidate) => boolean {
  const needed = neededBytes(options);
  return ({ allowedBytes = Infinity }) => allowedBytes >= needed;
}

async function whyNone(context: DockerContext, owner: SandboxOwner, options: SandboxOptions, known: Candidate[]): Promise<Error> {
  if (known.length === 0) return refusal(context, owner.sandboxId, needsOf(options));
  return waitForRoom(context, owner, options, await haveDisk(context, owner, options, known));
}

/** The first one with disk and room. Who cannot ask another host later waits on the first of all that have disk, and are large enough. */
function chooseFrom(known: Candidate[], { mayMove }: SandboxOwner, options: SandboxOptions): Candidate | undefined {
  const all = known.filter(({ shortDisk }) => !shortDisk);
  return all.find(hasRoomFor(options)) ?? (mayMove ? undefined : (all.find(isLargeFor(options)) ?? all[0]));
}

/** Files and processes that are in use, or on another host that may be there, are not moved. */
async function staysOn({ hosts, hostId, lostAfterMs }: DockerContext, { state, hostId: place }: SandboxRow): Promise<boolean> {
  if (state === 'archived') return false;
  if (place === hostId) return state !== 'stopped' && state !== 'hibernated';
  return (await hosts.lostSince(place, { hostId, lostAfterMs })) === undefined;
}

/** What the choice of a host for a sandbox goes by. */
export function wantedFor({ pools }: Pick<DockerContext, 'pools'>, { sandboxId, conversationId }: SandboxOwner, options: SandboxOptions): Wanted {
  const { image } = options;
  const warmOf = pools.templatesFor(options);
  return {
    sandboxId,
    ...(conversationId !== undefined && { conversationId }),
    ...(image !== undefined && { image }),
    // All workers keep pools of the same templates.
    ...(warmOf.length > 0 && { warmOf }),
    ...needsOf(options),
  };
}

async function refusal({ fleet, lostAfterMs }: DockerContext, sandboxId: string, needs: HostNeeds): Promise<Error> {
  const known = await fleet.hosts(lostAfterMs);
  const able = known.filter(({ facts }) => hasAll(facts, needs));
  const needed = wordsOf(needs);
  if (able.length > 0) return hostsAway(sandboxId, needed, able);
  return failure('NO_FITTING_HOST', { sandboxId, needed, known: whatThereIs(known, needs) });
}

/** All that any host has, of the kinds that are needed. */
function whatThereIs(known: KnownHost[], needs: HostNeeds): string {
  const all = (kind: 'labels' | 'runtimes') => [...new Set(known.flatMap(({ facts }) => facts?.[kind] ?? []))].toSorted();
  const words = (['runtimes', 'labels'] as const)
    .filter((kind) => needs[kind === 'labels' ? 'labels' : 'runtime'] !== undefined)
    .map((kind) => (all(kind).length === 0 ? `no ${kind}` : `the ${kind} ${listed(all(kind))}`));
  return words.join('; ');
}
