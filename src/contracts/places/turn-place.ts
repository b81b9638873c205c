/** What limits how many turns run at the same time. */
export type PlaceLimit = 'agent' | 'tenant' | 'installation';

/** What a turn waits for: as many turns run as may. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type WaitsForPlace = {
  limit: PlaceLimit;
  /** The agent or the tenant; absent for the installation. */
  name?: string;
  /** Turns that run, and how many may. More run than may after an operator has lowered the limit. */
  running: number;
  allowed: number;
};

/** Whether a turn has a place among those that run. `unlimited`: it needs none. `counted`: it has one, which it gives back at its end. */
export type PlaceAnswer = { outcome: 'unlimited' } | { outcome: 'counted' } | { outcome: 'waits'; waits: WaitsForPlace };

export interface PlaceArgs {
  conversationId: string;
  turnId: string;
  tenantId: string;
  agentId: string;
  /** The conversation that has given the task. Its turn is where this one stands in the line. */
  parentId?: string;
}

/** Arguments of what asks for a place before it works. Absent from workers of earlier versions, whose turns are not counted. */
export interface AsksForPlace {
  place?: Pick<PlaceArgs, 'parentId'>;
}

export interface CountedTurn {
  /** The turn may have a place among those that run, and gives it back at its end. */
  counted?: true;
}

/** The model was not called: the turn has no place. Without `waits`, it could not be asked for now. */
export interface NoPlace {
  outcome: 'waits';
  waits?: WaitsForPlace;
}

export interface LeavePlaceArgs {
  conversationId: string;
  turnId: string;
}

export interface PlaceActivities {
  /** Asks for the turn's place, in order. Repeated calls ask once. */
  askForPlace(args: PlaceArgs): Promise<PlaceAnswer>;
  /** Gives the place back while the turn does not work. It keeps its position in the line. */
  leavePlace(args: LeavePlaceArgs): Promise<void>;
}

/** For people, in one line. */
export function placeText({ limit, name, running, allowed }: WaitsForPlace): string {
  const whose = limit === 'installation' ? 'the installation' : `${limit} ${name ?? ''}`;
  return `waits for a free place: ${running} of ${allowed} running turns of ${whose}`;
}
