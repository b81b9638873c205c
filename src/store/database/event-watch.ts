import type { Database } from './database.ts';
import type { Subscriptions, Wake } from './follow-topic.ts';
import type { Listener } from './listener.ts';
import { forAllTenants } from './tenant-scope.ts';

const POLL_MS = 2_000;

const COUNTS = 'select conversation_id, event_seq from conversations where conversation_id = any($1)';

/** A conversation that was removed gets no more events, and its last one may have gone unread with it. The second look makes sure that its row is not just being made. */
const LOOKS = 2;

interface EventWatchParts {
  database: Database;
  listener: Listener;
  /** How long a reader waits when an announcement is lost; two seconds, unless a test says otherwise. */
  pollMs?: number;
}

interface Watched {
  wakers: Set<Wake>;
  /** The number of its newest event when it was last counted. */
  newest?: number;
  /** How often in a row it was not there when it was counted. */
  missed?: number;
}

/** Wakes followers of conversations at announcements, and, since an announcement may be lost, by one query for all of them in an interval. */
export function createEventWatch({ database, listener, pollMs = POLL_MS }: EventWatchParts): Subscriptions {
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let counting = false;

  const count = async () => {
    if (counting || listener.closed) return;
    counting = true;
    try {
      const counted = [...watched];
      const rows = await database.query<{ conversation_id: string; event_seq: number }>('events.counts', COUNTS, [counted.map(([id]) => id)]);
      endRemoved(counted, new Set(rows.map((row) => row.conversation_id)));
      for (const { conversation_id: id, event_seq: newest } of rows) {
        const one = watched.get(id);
        if (!one || one.newest === newest) continue;
        one.newest = newest;
        for (const wake of one.wakers) wake();
      }
    } catch {
      // Postgres is unavailable. The next count finds what there is when it is back.
    } finally {
      counting = false;
    }
  };

  return {
    subscribe(conversationId, wake) {
      const one = watched.get(conversationId) ?? { wakers: new Set() };
      watched.set(conversationId, one);
      one.wakers.add(wake);
      const unsubscribe = listener.subscribe(conversationId, wake);
      // It counts for the readers of all tenants, not for those of the one that came first.
      timer ??= forAllTenants(() => setInterval(() => void count(), pollMs));
      return () => {
        unsubscribe();
        one.wakers.delete(wake);
        if (one.wakers.size === 0 && watched.get(conversationId) === one) watched.delete(conversationId);
        if (watched.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    get closed() {
      return listener.closed;
    },
  };
}

function endRemoved(counted: readonly (readonly [string, Watched])[], found: ReadonlySet<string>): void {
  for (const [id, one] of counted) {
    one.missed = found.has(id) ? 0 : (one.missed ?? 0) + 1;
    if (one.missed >= LOOKS) for (const wake of one.wakers) wake('removed');
  }
}
