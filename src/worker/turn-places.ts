import { createTurnPlaceDesk } from '../activities/places/turn-places.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import type { Config } from '../platform/config.ts';
import { readLimits } from '../platform/read-limits.ts';
import { startRounds } from '../platform/start-rounds.ts';
import type { TurnLimits } from '../store/conversation/turn-places.ts';

/** Also how long a turn waits at most for a place that a crash has left with another one, whose turn has ended. */
const SWEEP_EVERY_MS = 5_000;

/** What the settings limit. */
export function turnLimits({
  LONGSHORE_MAX_RUNNING_TURNS: installation,
  LONGSHORE_LIMITS: text,
}: Partial<Pick<Config, 'LONGSHORE_MAX_RUNNING_TURNS' | 'LONGSHORE_LIMITS'>>): TurnLimits {
  return withoutUndefined({ installation, tenant: readLimits(text ?? '')?.runningTurns });
}

/** Looks for places at intervals: for those that ended turns have left, and for those that a change of a limit has made. */
export function startSweepingPlaces(parts: Parameters<typeof createTurnPlaceDesk>[0]): { stop(): Promise<void> } {
  const desk = createTurnPlaceDesk(parts);
  return startRounds({
    everyMs: SWEEP_EVERY_MS,
    work: () => desk.sweep(),
    onFailure: (error) => parts.log.warn({ err: error }, 'places of turns could not be swept'),
  });
}
