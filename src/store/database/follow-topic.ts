import { once } from 'node:events';
import { delay, type Listener } from './listener.ts';

/** Calls `wake` when there is news of a topic. */
export type Subscriptions = Pick<Listener, 'subscribe' | 'closed'>;

/**
 * Yields when the caller should read: at once, after each announcement of the topic, and every `pollMs`, if given, since an announcement may be lost. Ends when
 * `signal` aborts or the store closes.
 */
export async function* followTopic(
  subscriptions: Subscriptions,
  topic: string,
  { pollMs, signal }: { pollMs?: number; signal: AbortSignal },
): AsyncGenerator<void> {
  let news = new AbortController();
  const unsubscribe = subscriptions.subscribe(topic, () => news.abort());
  const stop = () => news.abort();
  signal.addEventListener('abort', stop);
  const ended = () => signal.aborted || subscriptions.closed;
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
