import { setImmediate as turn } from 'node:timers/promises';
import type { ConversationEvent } from '../../contracts/events.ts';
import { tenantInForce } from '../../store/database/tenant-scope.ts';
import type { EventPage, Store } from '../../store/store.ts';

/** An event as it is sent: the same event always has the same bytes. */
export interface EventFrame {
  event: ConversationEvent;
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
  return { event, text: `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n` };
}

/**
 * Reads pages of frames. Readers of one tenant that are at the same place at the same time share one query and its frames; operators' share among themselves. Who
 * comes when a query has begun shares the next one: an event that has woken the reader may have been logged since, and it would not be woken again.
 */
export function createFrameReader(events: Pick<Store['events'], 'read'>): FrameReader {
  /** Those that have not begun. */
  const next = new Map<string, Promise<readonly EventFrame[]>>();
  const begun = new Map<string, Promise<void>>();
  const read = async (key: string, conversationId: string, afterSeq: number) => {
    // Readers that the same announcement has woken come meanwhile.
    await (begun.get(key) ?? turn());
    next.delete(key);
    const page = events.read(conversationId, afterSeq, PAGE).then((found) => found.map(frameOf));
    const end = () => void begun.delete(key);
    begun.set(key, page.then(end, end));
    return page;
  };
  return (conversationId, afterSeq) => {
    const key = JSON.stringify([conversationId, afterSeq, tenantInForce()]);
    const page = next.get(key) ?? read(key, conversationId, afterSeq);
    next.set(key, page);
    return page;
  };
}
