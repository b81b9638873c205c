import type { ConversationEvent, EventType } from '../contracts/events.ts';
import type { JsonObject } from '../contracts/json.ts';
import { toJsonText } from './json-text.ts';
import type { NewEvent } from './store.ts';

/**
 * The insert of a statement that logs events. It reads a CTE `counter (conversation_id, event_seq)` that has already added the number of
 * events to the conversation's counter; since that update locks the row until commit, numbers have no gaps and readers never see one early.
 * @param events the placeholder (`$2`) that carries the events as JSON text
 */
export function insertEvents(events: string): string {
  return `insert into events (conversation_id, seq, at, turn_id, step_id, attempt, type, data)
    select counter.conversation_id, counter.event_seq - json_array_length(${events}::json) + item.position, clock_timestamp(),
      item.value->>'turnId', item.value->>'stepId', (item.value->>'attempt')::integer, item.value->>'type', item.value->'data'
    from counter cross join json_array_elements(${events}::json) with ordinality as item (value, position)`;
}

/** What an update of the conversation's row says of events that are logged with it: their numbers, and what they take up. */
export function countEvents(events: string): string {
  return `event_seq = event_seq + json_array_length(${events}::json), stored_bytes = stored_bytes + octet_length(${events}::json::text)`;
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
