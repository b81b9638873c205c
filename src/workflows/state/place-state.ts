import type { CallModelArgs, CallModelResult } from '../../contracts/activities.ts';
import type { WaitsForPlace } from '../../contracts/places/turn-place.ts';
import type { Turn } from '../../contracts/conversation-run.ts';
import type { ConversationData } from './conversation-data.ts';

/** What a model call asks a place with. */
export function placeOf({ parent }: ConversationData): NonNullable<CallModelArgs['place']> {
  return parent ? { parentId: parent.conversationId } : {};
}

/** Whether the turn has a place among those that run. */
export function hasPlace({ turn }: ConversationData): boolean {
  return turn?.counted === true && !turn.away;
}

/** Whether the turn has to ask before it works again. */
export function isAway({ turn }: ConversationData): boolean {
  return turn?.away === true;
}

/** A model call begins to ask. Until it is known what it was told, the turn may have a place. Returns what was known before. */
export function beginAsking(turn: Turn): boolean {
  const wasCounted = turn.counted === true;
  turn.counted = true;
  delete turn.placed;
  return wasCounted;
}

/** Takes over what a model call was told. */
export function takePlaceOf(turn: Turn, { outcome, counted }: CallModelResult, wasCounted: boolean): void {
  if (outcome === 'waits') turn.away = true;
  else if (outcome !== 'unaccepted') delete turn.away;
  if (!wasCounted && !counted && outcome !== 'waits') delete turn.counted;
}

/** A worker says that the turn has got a place. */
export function placeTurn({ turn }: ConversationData, placed: unknown): void {
  if (turn && turn.turnId === placed) turn.placed = true;
}

/** The turn stands in the line; the log tells it once. */
export function standInLine(data: ConversationData, turn: Turn, waits: WaitsForPlace): void {
  if (!turn.waits) data.outbox.push({ type: 'turn.waiting', turnId: turn.turnId, data: { ...waits } });
  turn.waits = waits;
}
