import { isFailure } from '../contracts/errors.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import { followTopic } from './database/follow-topic.ts';
import type { Listener } from './database/listener.ts';
import type { Store } from './store.ts';

/** How long a reader waits when an announcement is lost. */
const POLL_MS = 2_000;

interface FollowOptions {
  read: Store['events']['read'];
  listener: Listener;
  conversationId: string;
  afterSeq: number;
  signal: AbortSignal;
}

/** Yields events in order, each once, until `signal` aborts or the store closes. When the database is unavailable, waits for it. */
export async function* followEvents({ read, listener, conversationId, afterSeq, signal }: FollowOptions): AsyncGenerator<ConversationEvent> {
  let cursor = afterSeq;
  for await (const _ of followTopic(listener, conversationId, { pollMs: POLL_MS, signal })) {
    for (let isMore = true; isMore;) {
      const events = await readIfReachable(read, conversationId, cursor);
      for (const event of events) {
        if (signal.aborted || listener.closed) return;
        cursor = event.seq;
        yield event;
      }
      isMore = events.length > 0 && !signal.aborted && !listener.closed;
    }
  }
}

async function readIfReachable(read: Store['events']['read'], conversationId: string, cursor: number): Promise<ConversationEvent[]> {
  try {
    return await read(conversationId, cursor);
  } catch (error) {
    if (isFailure(error, 'POSTGRES_UNAVAILABLE')) return [];
    throw error;
  }
}
