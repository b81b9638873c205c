import type { ConversationEvent, EventType } from '../contracts/events.ts';
import type { JsonObject } from '../contracts/json.ts';
import { isDuplicate } from './database/failures.ts';
import { toJsonText } from './database/json-text.ts';
import type { NewEvent } from './store.ts';

const KEY_INDEX = 'events_key';
/** Each that fails means that another statement has appended a key. */
const MAX_TRIES = 20;

/**
 * The insert of a statement that logs events. It reads a CTE `counter (conversation_id, event_seq)` that has already added the number of
 * events to the conversation's counter; since that update locks the row until commit, numbers have no gaps and readers never see one early.
 * @param events the placeholder (`$2`) that carries the events as JSON text, or `NEW_EVENTS`
 */
export function insertEvents(events: string): string {
  return `insert into events (conversation_id, seq, at, turn_id, step_id, attempt, type, data, key)
    select counter.conversation_id, counter.event_seq - json_array_length(${events}::json) + item.position, clock_timestamp(),
      item.value->>'turnId', item.value->>'stepId', (item.value->>'attempt')::integer, item.value->>'type', item.value->'data', item.value->>'key'
    from counter cross join json_array_elements(${events}::json) with ordinality as item (value, position)`;
}

/** What an update of the conversation's row says of events that are logged with it: their numbers, and what they take up. */
export function countEvents(events: string): string {
  return `event_seq = event_seq + json_array_length(${events}::json), stored_bytes = stored_bytes + octet_length(${events}::json::text)`;
}

/** The events that `newEvents` has found to be new. */
export const NEW_EVENTS = '(select events from new_events)';

/**
 * A CTE with those of the events whose key the log does not have. Two statements that append the same key at once both find it new; the second then fails on the
 * unique index when it has waited for the first, and is repeated (`appendingOnce`), so that numbers keep no gaps.
 */
export function newEvents(events: string): string {
  return `new_events as materialized (
    select coalesce(json_agg(item.value order by item.position), '[]') as events
    from json_array_elements(${events}::json) with ordinality as item (value, position)
    where item.value->>'key' is null
      or not exists (select 1 from events where events.conversation_id = $1 and events.key = item.value->>'key')
  )`;
}

export function haveKeys(events: NewEvent[]): boolean {
  return events.some(({ key }) => key !== undefined);
}

/** Repeats a statement that was too late with a key; it finds it in the log then. */
export async function appendingOnce<Row>(append: () => Promise<Row[]>): Promise<Row[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await append();
    } catch (error) {
      if (tries === MAX_TRIES || !isDuplicate(error, KEY_INDEX)) throw error;
    }
  }
}

export function eventsText(events: NewEvent[]): string {
  return toJsonText(events);
}

export const EVENT_COLUMNS = 'conversation_id, seq, at, turn_id, step_id, attempt, type, data';

export interface EventRow {
  conversation_id: string;
  seq: number;
  at: Date;
  turn_id: string | null;
  step_id: string | null;
  attempt: number | null;
  type: EventType;
  data: JsonObject;
}

export function toEvent(row: EventRow): ConversationEvent {
  const event = {
    seq: row.seq,
    at: row.at.toISOString(),
    conversationId: row.conversation_id,
    ...(row.turn_id !== null && { turnId: row.turn_id }),
    ...(row.step_id !== null && { stepId: row.step_id }),
    ...(row.attempt !== null && { attempt: row.attempt }),
    type: row.type,
    data: row.data,
  };
  // Type and data are as they were appended; the writers hold to the contract.
  return event as ConversationEvent;
}
