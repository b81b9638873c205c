import { isPostgresAway } from './database/database-failures.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import { followTopic, type Subscriptions } from './database/follow-topic.ts';
import { delay } from './database/listener.ts';
import type { Store } from './store.ts';

const RETRY_MS = 2_000;

interface FollowOptions {
  read: Store['events']['read'];
  watch: Subscriptions;
  conversationId: string;
  afterSeq: number;
  signal: AbortSignal;
}

/** Yields events in order, each once, until `signal` aborts or the store closes. When the database is unavailable, waits for it. */
export async function* followEvents({ read, watch, conversationId, afterSeq, signal }: FollowOptions): AsyncGenerator<ConversationEvent> {
  let cursor = afterSeq;
  const ended = () => signal.aborted || watch.closed;
  for await (const _ of followTopic(watch, conversationId, { signal })) {
    for (let isMore = true; isMore && !ended();) {
      const events = await readIfReachable(read, conversationId, cursor);
      if (events === undefined) {
        await delay(RETRY_MS, signal);
        continue;
      }
      for (const event of events) {
        if (ended()) return;
        cursor = event.seq;
        yield event;
      }
      isMore = events.length > 0;
    }
  }
}

async function readIfReachable(read: Store['events']['read'], conversationId: string, cursor: number): Promise<ConversationEvent[] | undefined> {
  try {
    return await read(conversationId, cursor);
  } catch (error) {
    if (isPostgresAway(error)) return undefined;
    throw error;
  }
}
