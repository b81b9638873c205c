import type { Agent } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { ownVersion } from '../../platform/own-version.ts';
import { startRounds } from '../../platform/start-rounds.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { Store } from '../../store/store.ts';

interface Described {
  store: Pick<Store, 'fleet'>;
  sandboxes: Pick<Sandboxes, 'hostId' | 'facts'>;
  /** Those whose sandboxes this host may get. */
  agents: ReadonlyMap<string, Agent>;
  log: Logger;
}

const AGAIN_MS = 15_000;

/**
 * Says what this host has and promises to its sandboxes, now and from time to time. Until that is known, it gets no sandboxes from workers of other hosts.
 * @throws CONFIG_INVALID
 */
export async function describeHost(parts: Described): Promise<{ stop(): Promise<void> }> {
  const { log, sandboxes } = parts;
  const { hostId } = sandboxes;
  const unlessAway = (error: unknown) => log.warn({ hostId, err: error }, 'what this host has could not be found out now');
  await describe(parts).catch((error: unknown) => {
    if (isFailure(error, 'CONFIG_INVALID')) throw error;
    unlessAway(error);
  });
  return startRounds({ everyMs: AGAIN_MS, work: () => describe(parts), onFailure: unlessAway });
}

async function describe({ store, sandboxes, agents }: Described): Promise<void> {
  const { hostId } = sandboxes;
  if (hostId === undefined || !sandboxes.facts) return;
  await store.fleet.describe(hostId, { version: ownVersion(), ...(await sandboxes.facts(imagesOf(agents))) });
}

function imagesOf(agents: ReadonlyMap<string, Agent>): string[] {
  const named = [...agents.values()].flatMap(({ sandbox: { image } }) => (image === undefined ? [] : [image]));
  return [...new Set(named)].toSorted();
}
