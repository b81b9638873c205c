import { delay, type Listener } from './listener.ts';

/**
 * Yields when the caller should read: at once, after each announcement of the topic, and every `pollMs`, since an announcement may be lost. Ends when
 * `signal` aborts or the store closes.
 */
export async function* followTopic(listener: Listener, topic: string, { pollMs, signal }: { pollMs: number; signal: AbortSignal }): AsyncGenerator<void> {
  let news = new AbortController();
  const unsubscribe = listener.subscribe(topic, () => news.abort());
  const stop = () => news.abort();
  signal.addEventListener('abort', stop);
  const ended = () => signal.aborted || listener.closed;
  try {
    while (!ended()) {
      // Created before the caller reads: an announcement during the read ends the wait after it.
      news = new AbortController();
      yield;
      if (!ended()) await delay(pollMs, news.signal);
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', stop);
  }
}
