import type { Logger } from '../../platform/log.ts';
import { dedicatedClient } from './connection-options.ts';

export const EVENTS_CHANNEL = 'longshore_events';

/** Wakes followers of a conversation when Postgres notifies of new events. Notifications may be lost, so followers also poll. */
export interface Listener {
  /** Calls `wake` at every notification of the conversation and after every new connection, until the returned function is called. */
  subscribe(conversationId: string, wake: () => void): () => void;
  /** True from the moment the store begins to close; followers then end. */
  readonly closed: boolean;
  close(): Promise<void>;
}

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;

/** One connection for all followers of a store, opened for the first follower and kept until the store closes. */
export function createListener(options: { url: string; log: Logger }): Listener {
  const wakers = new Map<string, Set<() => void>>();
  const closing = new AbortController();
  let loop: Promise<void> | undefined;

  const wakeAll = () => wakers.forEach((set) => set.forEach((wake) => wake()));
  const listen = async () => {
    for (let retryMs = FIRST_RETRY_MS; !closing.signal.aborted; retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)) {
      const connected = await listenOnce(options.url, closing.signal, wakeAll, (id) => wakers.get(id)?.forEach((wake) => wake()));
      if (closing.signal.aborted) return;
      if (connected) retryMs = FIRST_RETRY_MS;
      options.log.warn({ retryMs }, 'the Postgres connection that announces events was lost; readers poll until it is back');
      await delay(retryMs, closing.signal);
    }
  };

  return {
    subscribe(conversationId, wake) {
      loop ??= listen();
      const set = wakers.get(conversationId) ?? new Set();
      wakers.set(conversationId, set.add(wake));
      return () => {
        set.delete(wake);
        if (set.size === 0 && wakers.get(conversationId) === set) wakers.delete(conversationId);
      };
    },
    get closed() {
      return closing.signal.aborted;
    },
    async close() {
      closing.abort();
      wakeAll();
      await loop;
    },
  };
}

/** Holds one connection until it breaks or `signal` aborts; resolves to whether it listened at any time. */
async function listenOnce(url: string, signal: AbortSignal, onListening: () => void, onEvent: (conversationId: string) => void): Promise<boolean> {
  const client = dedicatedClient(url);
  let listening = false;
  const over = new AbortController();
  const ended = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
  });
  client.on('notification', (notification) => onEvent(notification.payload ?? ''));
  const listen = async () => {
    await client.connect();
    await client.query(`listen ${EVENTS_CHANNEL}`);
    listening = true;
    onListening();
    await ended;
  };
  // A failure to connect ends this attempt in the same way as a broken connection: the caller logs it and tries again.
  await Promise.race([listen().catch(() => undefined), ended]);
  over.abort();
  await client.end().catch(() => undefined);
  return listening;
}

/** Resolves after `ms`, or at once when `signal` aborts. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
