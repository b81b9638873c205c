import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log.ts';
import type { Database } from './database.ts';
import { EVENTS_CHANNEL } from './listener.ts';
import { forAllTenants } from './tenant-scope.ts';

/** Notifies followers in all processes that conversations have new events. */
export interface Announcer {
  announce(conversationId: string): void;
  /** Resolves when all announcements have been sent. */
  settled(): Promise<void>;
}

/** Milliseconds in which announcements are collected: no reader needs them faster, and a writer does not wait for the query. */
const GATHER_MS = 10;

/**
 * Announces after the commit, in batches, and outside the writer's transaction: `NOTIFY` inside it would hold Postgres'
 * cluster-wide lock during the commit's fsync and serialize all writers. When an announcement is lost because its process dies,
 * its readers wait one polling interval.
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
      // A batch has conversations of all tenants.
      sending ??= forAllTenants(send);
    },
    async settled() {
      await sending;
    },
  };
}
