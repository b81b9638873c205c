import type { ConversationEvent, EventType } from '../../contracts/events.ts';
import type { EventPage, Store } from '../../store/store.ts';

/** An event as it is sent: the same event always has the same bytes. */
export interface EventFrame {
  seq: number;
  type: EventType;
  text: string;
}

/** Frames after a number; none only at the end of the log. */
export type FrameReader = (conversationId: string, afterSeq: number) => Promise<readonly EventFrame[]>;

/** What a slow reader may hold in memory: about this much, and one event. */
const PAGE: EventPage = { limit: 200, bytes: 64 * 1024 };

/**
 * The frame of an event in the format of server-sent events. Without a name of its own (`event:`), it reaches `onmessage` of a browser's EventSource; its data
 * says the type.
 */
export function frameOf(event: ConversationEvent): EventFrame {
  return { seq: event.seq, type: event.type, text: `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n` };
}

/** Reads pages of frames. Readers that are at the same place at the same time share one query and its frames. */
export function createFrameReader(events: Pick<Store['events'], 'read'>): FrameReader {
  const reading = new Map<string, Promise<readonly EventFrame[]>>();
  return (conversationId, afterSeq) => {
    const key = `${afterSeq} ${conversationId}`;
    const shared = reading.get(key);
    if (shared) return shared;
    const page = events
      .read(conversationId, afterSeq, PAGE)
      .then((found) => found.map(frameOf))
      .finally(() => reading.delete(key));
    reading.set(key, page);
    return page;
  };
}
