import type { ConversationEvent, EventType } from '../../contracts/events.ts';
import type { JsonObject } from '../../contracts/json.ts';

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
  // Type and data are as they were appended; the writers follow the contract.
  return event as ConversationEvent;
}
