import { isPostgresAway } from './database/database-failures.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import { followTopic, type Subscriptions } from './database/follow-topic.ts';
import { delay } from './database/listener.ts';

const RETRY_MS = 2_000;

export interface EventsSoFar {
  events: ConversationEvent[];
  /** There were more than fit into the page. */
  isMore: boolean;
}

interface FollowOptions {
  read: (conversationId: string, afterSeq: number) => Promise<EventsSoFar>;
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
      const page = await readIfReachable(read, conversationId, cursor);
      if (page === undefined) {
        await delay(RETRY_MS, signal);
        continue;
      }
      const { events } = page;
      for (const event of events) {
        if (ended()) return;
        cursor = event.seq;
        yield event;
      }
      isMore = page.isMore;
    }
  }
}

async function readIfReachable(read: FollowOptions['read'], conversationId: string, cursor: number): Promise<EventsSoFar | undefined> {
  try {
    return await read(conversationId, cursor);
  } catch (error) {
    if (isPostgresAway(error)) return undefined;
    throw error;
  }
}
