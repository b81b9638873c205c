import { isFailure } from '../contracts/errors.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import { delay, type Listener } from './listener.ts';
import type { Store } from './store.ts';

/** How long a reader stays in the dark when an announcement is lost. */
const POLL_MS = 2_000;

interface FollowOptions {
  read: Store['events']['read'];
  listener: Listener;
  conversationId: string;
  afterSeq: number;
  signal: AbortSignal;
}

/** Yields events in order, each once, until `signal` aborts or the store closes. A database that is away is waited for. */
export async function* followEvents({ read, listener, conversationId, afterSeq, signal }: FollowOptions): AsyncGenerator<ConversationEvent> {
  let news = new AbortController();
  const unsubscribe = listener.subscribe(conversationId, () => news.abort());
  const stop = () => news.abort();
  signal.addEventListener('abort', stop);
  let cursor = afterSeq;
  const ended = () => signal.aborted || listener.closed;
  try {
    while (!ended()) {
      // Armed before the read: what is announced during the read ends the wait after it.
      news = new AbortController();
      const events = await readIfReachable(read, conversationId, cursor);
      for (const event of events) {
        if (ended()) return;
        cursor = event.seq;
        yield event;
      }
      if (events.length === 0 && !ended()) await delay(POLL_MS, news.signal);
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', stop);
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
