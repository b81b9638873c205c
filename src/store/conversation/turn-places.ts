import type { LeavePlaceArgs, PlaceArgs, WaitsForPlace } from '../../contracts/places/turn-place.ts';
import type { Priority } from '../../contracts/places/priority.ts';
import { toJsonText } from '../database/json-text.ts';
import type { Database } from '../database/database.ts';

/** How many turns may run at the same time, where operators have set nothing else for a tenant. What is absent is not limited. */
export interface TurnLimits {
  /** Of all tenants together. */
  installation?: number;
  tenant?: number;
}

/** A turn that has got a place and may not know of it. */
export interface PlacedTurn {
  conversationId: string;
  turnId: string;
  /** Number of the place: a turn may get several, one after the other. */
  given: number;
}

/** `over`: the turn can run no more, and is not counted. */
export type TurnPlace = { outcome: 'held' | 'over' } | { outcome: 'waits'; waits: WaitsForPlace };

/** What asks for a place or gives it back: an activity of the workflow, by its number in a run. What comes after a later one of the same run changes nothing. */
export interface PlaceCaller {
  run: string;
  number: number;
}

/** `agentMost` and `priority`: what the file of the agent says. The turn of a sub-agent has the priority of the turn that gave the task. */
export interface AskingTurn extends PlaceArgs {
  agentMost?: number | undefined;
  priority?: Priority | undefined;
  by?: PlaceCaller | undefined;
}
export interface LeavingTurn extends LeavePlaceArgs {
  by?: PlaceCaller | undefined;
}

/**
 * Places of running turns. Between tenants, the one that has got none for the longest time comes next. Of four places of a tenant, three go to the turns of the
 * highest priority, in order, and the fourth to the turn that comes first in the order of all. Each function
 * gives all that are free, and returns those who do not know of it.
 */
export interface TurnPlaces {
  /** Asks for a place, once for each turn. */
  ask(asking: AskingTurn, limits: TurnLimits): Promise<{ place: TurnPlace; others: PlacedTurn[] }>;
  /** Gives a place back, at the end of the turn or for a time, in which it keeps its position in the queue. */
  leave(turn: LeavingTurn, how: 'ends' | 'rests', limits: TurnLimits): Promise<PlacedTurn[]>;
  /**
   * Takes back the places of turns that ended without giving them back.
   * @param agents what the files of agents say now, `null` without a limit; turns that wait have asked with what these said then
   */
  sweep(limits: TurnLimits, agents?: Record<string, number | null>): Promise<PlacedTurn[]>;
  /** This turn knows of its place. */
  told(turn: PlacedTurn): Promise<void>;
}

const ASK = 'select longshore_ask_for_turn_place($1::json, $2::json) as answer';
const LEAVE = 'select longshore_leave_turn_place($1, $2, $3, $4::json) as placed';
const SWEEP = 'select longshore_sweep_turn_places($1::json) as placed';
const TOLD = 'update turn_places set told = true where conversation_id = $1 and turn_id = $2 and given = $3';

interface Answer {
  outcome: 'held' | 'over' | 'waits';
  waits?: Omit<WaitsForPlace, 'name'> & { name: string | null };
  others: PlacedTurn[];
}

export function createTurnPlaces({ database }: { database: Database }): TurnPlaces {
  const placed = async (name: string, sql: string, values: (string | boolean)[]) => {
    const [row] = await database.query<{ placed: PlacedTurn[] }>(name, sql, values);
    return row?.placed ?? [];
  };
  return {
    async ask(asking, limits) {
      const [row] = await database.query<{ answer: Answer }>('turnPlaces.ask', ASK, [toJsonText(asking), toJsonText(limits)]);
      const { outcome, waits, others } = row?.answer ?? { outcome: 'over', others: [] };
      return { place: outcome === 'waits' && waits ? { outcome, waits: named(waits) } : { outcome: outcome === 'held' ? 'held' : 'over' }, others };
    },
    leave: ({ conversationId, turnId, by }, how, limits) =>
      placed('turnPlaces.leave', LEAVE, [conversationId, turnId, how === 'ends', toJsonText({ ...limits, ...(by && { by }) })]),
    sweep: (limits, agents = {}) => placed('turnPlaces.sweep', SWEEP, [toJsonText({ ...limits, agents })]),
    async told({ conversationId, turnId, given }) {
      await database.query('turnPlaces.told', TOLD, [conversationId, turnId, given]);
    },
  };
}

function named({ name, ...waits }: NonNullable<Answer['waits']>): WaitsForPlace {
  return { ...waits, ...(name !== null && { name }) };
}
