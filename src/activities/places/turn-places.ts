import { RecentMap } from '../../common/recent-map.ts';
import type { LeavePlaceArgs, PlaceAnswer, PlaceArgs } from '../../contracts/places/turn-place.ts';
import type { PlaceCaller, PlacedTurn } from '../../store/conversation/turn-places.ts';
import type { ActivityDependencies } from '../../tool-calls/dependencies.ts';

/** A change by an operator is in force after so many milliseconds at every worker. */
const KEPT_MS = 5_000;
const KEPT_TENANTS = 10_000;

/** Places of running turns. Without a limit, nothing is stored, and a turn asks the database once in some seconds whether its tenant has one. */
export interface TurnPlaceDesk {
  ask(turn: PlaceArgs, by?: PlaceCaller): Promise<PlaceAnswer>;
  /** At the end of a turn, or for a time. */
  leave(turn: LeavePlaceArgs, how: 'ends' | 'rests', by?: PlaceCaller): Promise<void>;
  /** Takes back places of turns that ended without giving them back, and tells those again that have got one and do not know of it. */
  sweep(): Promise<void>;
}

type DeskParts = Pick<ActivityDependencies, 'agents' | 'places' | 'log'> & { store: Pick<ActivityDependencies['store'], 'turnPlaces' | 'limits'> };

export function createTurnPlaceDesk({ store, agents, places, log }: DeskParts): TurnPlaceDesk {
  const { turnPlaces } = store;
  const { limits } = places;
  const limited = new RecentMap<string, { until: number; isLimited: Promise<boolean> }>(KEPT_TENANTS);

  /** Whether operators limit the turns of a tenant by itself. The number is read where it counts, with the places. */
  const isTenantLimited = (tenant: string): Promise<boolean> => {
    const known = limited.get(tenant);
    if (known && known.until > performance.now()) return known.isLimited;
    const isLimited = store.limits.find([{ tenant }]).then(([set]) => set?.runningTurns !== undefined);
    limited.set(tenant, { until: performance.now() + KEPT_MS, isLimited });
    isLimited.catch(() => limited.delete(tenant));
    return isLimited;
  };

  const tell = async (turn: PlacedTurn) => {
    await places.tell(turn);
    await turnPlaces.told(turn);
  };
  // The next sweep signals a conversation again that could not be signalled.
  const tellAll = async (placed: PlacedTurn[]) => {
    const ends = await Promise.allSettled(placed.map(tell));
    for (const end of ends)
      if (end.status === 'rejected') log.warn({ err: end.reason as unknown }, 'a conversation could not be signalled that its turn has a place');
  };

  return {
    async ask(turn, by) {
      const { maxRunningTurns: agentMost, priority } = agents.get(turn.agentId) ?? {};
      const always = [agentMost, limits.installation, limits.tenant].some((most) => most !== undefined);
      if (!always && !(await isTenantLimited(turn.tenantId))) return { outcome: 'unlimited' };
      const { place, others } = await turnPlaces.ask({ ...turn, agentMost, priority, by }, limits);
      await tellAll(others);
      if (place.outcome === 'waits') return place;
      return { outcome: place.outcome === 'held' ? 'counted' : 'unlimited' };
    },
    leave: async (turn, how, by) => tellAll(await turnPlaces.leave({ ...turn, by }, how, limits)),
    sweep: async () => tellAll(await turnPlaces.sweep(limits, mostOf(agents))),
  };
}

function mostOf(agents: DeskParts['agents']): Record<string, number | null> {
  return Object.fromEntries([...agents].map(([agentId, { maxRunningTurns = null }]) => [agentId, maxRunningTurns]));
}
