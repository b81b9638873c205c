import type { WorkflowClient } from '@temporalio/client';
import { parseDuration } from '../common/duration.ts';
import { destroyExpired } from '../sdk/destroy-expired.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { MediaPlace } from '../store/conversation/media.ts';
import type { Store } from '../store/store.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import { removeOld, type RemovalPlace } from './removal/remove-old.ts';
import { compactClosed } from './compact-closed.ts';
import type { ConversationReaper } from './reap-conversations.ts';

const REAP_EVERY_MS = 5 * 60_000;
/** Pages of attachments that a round looks at: 100,000, so that ten million are looked at within hours. */
const MEDIA_PAGES = 10;
/** Workers say each day which skills they give to conversations. */
const SKILLS_KEPT_DAYS = 30;
/** What was sent to webhooks is listed, and can be sent again by its id, for so long. */
const ATTEMPTS_KEPT_MS = 7 * 24 * 60 * 60_000;

interface ReaperParts {
  store: Pick<
    Store,
    'pluginStore' | 'pluginTimers' | 'pluginWebhooks' | 'sandboxes' | 'conversations' | 'removal' | 'webhooks' | 'requestAnswers' | 'skills' | 'media'
  >;
  sandboxes: Sandboxes;
  log: Logger;
  config: Partial<Pick<Config, 'LONGSHORE_RETENTION_DAYS' | 'LONGSHORE_RETENTION'>>;
  workflows: Pick<WorkflowClient, 'getHandle'>;
  reapConversations: ConversationReaper;
  /** Ends the senders of webhooks that were removed. */
  endSenders: () => Promise<void>;
}

/** Closes conversations without a workflow and removes what no row owns, now and at intervals. A failed round is logged; the next round tries again. */
export function startReaper({ store, sandboxes, workflows, log, config, reapConversations, endSenders }: ReaperParts): { stop(): Promise<void> } {
  const { LONGSHORE_RETENTION: retention = '0' } = config;
  const keepMs = retention === '0' ? undefined : parseDuration(retention);
  const stopped = new AbortController();
  const removals: RemovalPlace = { afterId: '' };
  const attachments: { place?: MediaPlace | undefined } = {};
  let round: Promise<void> | undefined;
  const reapOnce = async () => {
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
    await removeOld({ store, sandboxes, workflows, log }, keepMs, stopped.signal, removals).catch((error: unknown) =>
      log.warn({ err: error }, 'old conversations could not be removed'),
    );
    await store.removal.sweep().catch((error: unknown) => log.warn({ err: error }, 'what removals have left could not be removed'));
    await sweepWebhooks(store, stopped.signal).catch((error: unknown) => log.warn({ err: error }, 'old attempts of webhooks could not be removed'));
    await endSenders().catch((error: unknown) => log.warn({ err: error }, 'senders of removed webhooks could not be ended'));
    await store.requestAnswers.sweep().catch((error: unknown) => log.warn({ err: error }, 'old answers of requests could not be removed'));
    await store.skills.sweep(SKILLS_KEPT_DAYS).catch((error: unknown) => log.warn({ err: error }, 'skills that nobody uses could not be removed'));
    await sweepMedia(store, stopped.signal, attachments).catch((error: unknown) =>
      log.warn({ err: error }, 'attachments that nothing uses could not be removed'),
    );
    await store.pluginStore.sweep().catch((error: unknown) => log.warn({ err: error }, 'old entries of plugins could not be removed'));
    await store.pluginTimers.sweep().catch((error: unknown) => log.warn({ err: error }, 'old timers of plugins could not be removed'));
    await store.pluginWebhooks.sweep().catch((error: unknown) => log.warn({ err: error }, 'old requests of webhooks could not be removed'));
  };
  // A round that takes longer than the interval is not joined by another, nor followed by all that came due meanwhile.
  const reap = () => {
    round ??= reapOnce().finally(() => (round = undefined));
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

async function sweepWebhooks({ webhooks }: Pick<Store, 'webhooks'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await webhooks.sweep(ATTEMPTS_KEPT_MS)) > 0);
}

/** Goes on where the round before has ended: where there are many, a round does not look at all. */
async function sweepMedia({ media }: Pick<Store, 'media'>, signal: AbortSignal, from: { place?: MediaPlace | undefined }): Promise<void> {
  for (let page = 0; page < MEDIA_PAGES && !signal.aborted; page += 1) {
    from.place = (await media.sweepAfter(from.place)).next;
    if (!from.place) return;
  }
}
