import { once } from 'node:events';
import { delay, type Listener } from './listener.ts';

/** Says that there is news of a topic, or that there will be none any more. */
export type Wake = (why?: 'removed') => void;

/** Calls `wake` when there is news of a topic. */
export interface Subscriptions extends Pick<Listener, 'closed'> {
  subscribe(topic: string, wake: Wake): () => void;
}

/**
 * Yields when the caller should read: at once, after each announcement of the topic, and every `pollMs`, if given, since an announcement may be lost. Ends when
 * `signal` aborts, the store closes or there will be no more news.
 */
export async function* followTopic(
  subscriptions: Subscriptions,
  topic: string,
  { pollMs, signal }: { pollMs?: number; signal: AbortSignal },
): AsyncGenerator<void> {
  let news = new AbortController();
  let isRemoved = false;
  const unsubscribe = subscriptions.subscribe(topic, (why) => {
    if (why === 'removed') isRemoved = true;
    news.abort();
  });
  const stop = () => news.abort();
  signal.addEventListener('abort', stop);
  const ended = () => signal.aborted || subscriptions.closed || isRemoved;
  try {
    while (!ended()) {
      // Created before the caller reads: an announcement during the read ends the wait after it.
      news = new AbortController();
      yield;
      if (ended() || news.signal.aborted) continue;
      await (pollMs === undefined ? once(news.signal, 'abort') : delay(pollMs, news.signal));
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', stop);
  }
}
