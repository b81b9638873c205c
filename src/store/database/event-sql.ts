import { isDuplicate } from './database-failures.ts';
import { toJsonText } from './json-text.ts';

/** What tells that another statement has stored the same: indexes of events, entries, compactions and plans by their keys, and of the last two by numbers that both have drawn. */
const SAME = ['events_key', 'transcript_conversation_id_key_key', 'compactions_conversation_id_compaction_id_key', 'compactions_pkey', 'plans_pkey'];
/** Each failure means that another statement has stored one of the keys. */
const MAX_TRIES = 20;

/**
 * The insert of a statement that logs events. It reads a CTE `counter (conversation_id, event_seq)` that has already added the number of
 * events to the conversation's counter. That update locks the row until commit, so numbers have no gaps and readers never see one early.
 * @param events the placeholder (`$2`) for the events as JSON text, or `NEW_EVENTS`
 */
export function insertEvents(events: string): string {
  return `insert into events (conversation_id, seq, at, turn_id, step_id, attempt, type, data, key)
    select counter.conversation_id, counter.event_seq - json_array_length(${events}::json) + item.position, clock_timestamp(),
      item.value->>'turnId', item.value->>'stepId', (item.value->>'attempt')::integer, item.value->>'type', item.value->'data', item.value->>'key'
    from counter cross join json_array_elements(${events}::json) with ordinality as item (value, position)`;
}

/** The assignments of an update of the conversation's row for events that are logged with it: the counter, and the stored bytes. */
export function countEvents(events: string): string {
  return `event_seq = event_seq + json_array_length(${events}::json), stored_bytes = stored_bytes + octet_length(${events}::json::text)`;
}

/** The events that `newEvents` found to be new. */
export const NEW_EVENTS = '(select events from new_events)';

/**
 * A CTE with the events whose key is not in the log. Two statements that append the same key at once both find it new; the second waits for the first, fails on
 * the unique index and is repeated (`appendingOnce`), so that numbers have no gaps. Each key is looked up by itself: for `not exists`, Postgres may choose to read all
 * events of the conversation.
 */
export function newEvents(events: string): string {
  return `new_events as materialized (
    select coalesce(json_agg(item.value order by item.position), '[]') as events
    from json_array_elements(${events}::json) with ordinality as item (value, position)
    where item.value->>'key' is null
      or (select 1 from events where events.conversation_id = $1 and events.key = item.value->>'key' limit 1) is null
  )`;
}

export function haveKeys(events: readonly { key?: string }[]): boolean {
  return events.some(({ key }) => key !== undefined);
}

/**
 * Repeats a statement that another one preceded with the same key; the repetition finds the key. A statement that waits for the conversation's row sees the row as it is
 * then, but all others as they were when it began. So `on conflict do nothing` is not enough: what else the statement does, such as counting, would be done twice.
 */
export async function appendingOnce<Row>(append: () => Promise<Row[]>): Promise<Row[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await append();
    } catch (error) {
      if (tries === MAX_TRIES || !SAME.some((index) => isDuplicate(error, index))) throw error;
    }
  }
}

export function eventsText(events: readonly object[]): string {
  return toJsonText(events);
}
