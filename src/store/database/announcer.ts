import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log.ts';
import type { Database } from './database.ts';
import { EVENTS_CHANNEL } from './listener.ts';

/** Tells followers in all processes that conversations have new events. */
export interface Announcer {
  announce(conversationId: string): void;
  /** Resolves when all that was announced is out. */
  settled(): Promise<void>;
}

/** Milliseconds in which announcements gather: nobody reads faster, and what was just written need not wait for the query to be sent. */
const GATHER_MS = 10;

/**
 * Announces after the commit, in batches, and outside the writer's transaction: `NOTIFY` inside it would take Postgres'
 * cluster-wide lock over the commit's fsync and put all writers in one line. An announcement lost with a dying process
 * costs its readers one polling interval.
 */
export function createAnnouncer(options: { database: Database; log: Logger }): Announcer {
  let waiting = new Set<string>();
  let sending: Promise<void> | undefined;

  const send = async () => {
    while (waiting.size > 0) {
      await delay(GATHER_MS);
      const batch = [...waiting];
      waiting = new Set();
      try {
        await options.database.query('events.announce', `select pg_notify('${EVENTS_CHANNEL}', id) from unnest($1::text[]) as id`, [batch]);
      } catch (error) {
        options.log.debug({ error: String(error) }, 'events could not be announced; readers will find them by polling');
      }
    }
    sending = undefined;
  };

  return {
    announce(conversationId) {
      waiting.add(conversationId);
      sending ??= send();
    },
    async settled() {
      await sending;
    },
  };
}
