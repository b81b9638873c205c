import { failure } from '../../../contracts/errors.ts';
import { hasLabels, type HostNeeds } from '../../../contracts/hosts/needs.ts';
import type { HostFacts, KnownHost } from '../../../store/service/fleet.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** Hosts that an error names. */
const NAMED = 10;
const MEBIBYTE = 2 ** 20;

/** For a sandbox that is too large for the hosts that are there: waits for larger ones, if there are some. Undefined when no host that is known could have it. */
export async function largerAway(
  { fleet, lostAfterMs }: Pick<DockerContext, 'fleet' | 'lostAfterMs'>,
  { sandboxId, ...needs }: HostNeeds & { sandboxId: string },
  neededMb: number,
): Promise<Error | undefined> {
  const larger = (await fleet.hosts(lostAfterMs)).filter(({ facts }) => hasAll(facts, needs) && (facts?.allowedBytes ?? Infinity) >= neededMb * MEBIBYTE);
  const words = [`${neededMb} MB of memory`, wordsOf(needs)].filter((text) => text !== '');
  return larger.length === 0 ? undefined : hostsAway(sandboxId, words.join(', '), larger);
}

/** Why none of the hosts takes it that could. */
export function hostsAway(sandboxId: string, needed: string, able: KnownHost[]): Error {
  return failure('HOSTS_AWAY', { sandboxId, needed, hosts: listed(able.map(whyAway)) });
}

/** A host that has said nothing of itself has nothing. */
export function hasAll(facts: HostFacts | undefined, needs: HostNeeds): boolean {
  if (!facts) return false;
  const { labels = [], runtimes } = facts;
  return hasLabels(labels, { hostLabels: needs.labels ?? [] }) && (needs.runtime === undefined || runtimes.includes(needs.runtime));
}

function whyAway({ hostId, isThere, drainingSince }: KnownHost): string {
  if (!isThere) return `"${hostId}" has not been heard of`;
  return `"${hostId}" ${drainingSince === undefined ? 'has just come back' : 'is being drained'}`;
}

export function wordsOf({ runtime, labels = [] }: HostNeeds): string {
  const words = [
    ...(runtime === undefined ? [] : [`the runtime ${runtime}`]),
    ...(labels.length === 0 ? [] : [`the label${labels.length === 1 ? '' : 's'} ${labels.join(', ')}`]),
  ];
  return words.join(' and ');
}

export function listed(items: string[]): string {
  return items.length > NAMED ? `${items.slice(0, NAMED).join(', ')} and ${items.length - NAMED} more` : items.join(', ');
}
