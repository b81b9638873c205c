import { destroyExpired } from '../sdk/destroy-expired.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Store } from '../store/store.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import { compactClosed } from './compact-closed.ts';
import type { ConversationReaper } from './reap-conversations.ts';

const REAP_EVERY_MS = 5 * 60_000;

interface ReaperParts {
  store: Pick<Store, 'pluginStore' | 'sandboxes' | 'conversations'>;
  sandboxes: Sandboxes;
  log: Logger;
  config: Partial<Pick<Config, 'LONGSHORE_RETENTION_DAYS'>>;
  reapConversations: ConversationReaper;
}

/** Closes conversations without a workflow and removes what no row owns, now and at intervals. A failed round is logged; the next round tries again. */
export function startReaper({ store, sandboxes, log, config, reapConversations }: ReaperParts): { stop(): Promise<void> } {
  const stopped = new AbortController();
  let round: Promise<void> = Promise.resolve();
  const reapOnce = async (before: Promise<void>) => {
    await before;
    try {
      await reapConversations(stopped.signal);
    } catch (error) {
      log.warn({ err: error }, 'conversations could not be reaped');
    }
    try {
      await destroyExpired({ store, sandboxes, log });
      const found = await sandboxes.reap();
      if (Object.values(found).some((names) => names.length > 0)) log.info(found, 'sandboxes reaped');
    } catch (error) {
      log.warn({ err: error }, 'sandboxes could not be reaped');
    }
    await compactClosed(store, config.LONGSHORE_RETENTION_DAYS ?? 0, stopped.signal).catch((error: unknown) =>
      log.warn({ err: error }, 'calls of old conversations could not be removed'),
    );
    await store.pluginStore.sweep().catch((error: unknown) => log.warn({ err: error }, 'old entries of plugins could not be removed'));
  };
  const reap = () => {
    round = reapOnce(round);
  };
  reap();
  const timer = setInterval(reap, REAP_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      stopped.abort();
      await round;
    },
  };
}
