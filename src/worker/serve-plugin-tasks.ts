import { RecentMap } from '../common/recent-map.ts';
import type { Logger } from '../platform/log.ts';
import type { PricedModels } from '../models/create-models.ts';
import { startRounds } from '../platform/start-rounds.ts';
import { ownSandboxIdOf } from '../plugins/dialects/shared/python/own-sandboxes.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Store } from '../store/store.ts';
import { deliverRequests } from '../tool-calls/tasks/deliver-requests.ts';
import { createAnswerTask, type TaskParts } from '../tool-calls/tasks/answer-task.ts';
import { createModelDesk } from '../tool-calls/tasks/model-desk.ts';
import { fireTimers } from '../tool-calls/tasks/fire-timers.ts';

const LOOK_EVERY_MS = 1_000;
/** After a failure. */
const RETRY_MS = 10_000;
/** Sandboxes whose failure is remembered. */
const MOST_RESTING = 10_000;

interface Parts extends Omit<TaskParts, 'store' | 'registry' | 'desk'> {
  store: TaskParts['store'] & Pick<Store, 'sandboxes' | 'pluginWebhooks' | 'taskQuestions'>;
  registry: Registry;
  models: PricedModels;
  sandboxes: Pick<Sandboxes, 'hostId'>;
  log: Logger;
}

/**
 * Does what tasks of plugins ask in their sandboxes on this host, gives timers that are due to their conversations, and requests of outside systems to plugins, until it
 * is stopped.
 */
export function startPluginTasks(parts: Parts): { stop(): Promise<void> } {
  const { log } = parts;
  const ended = new AbortController();
  const desk = createModelDesk({ ...parts, signal: ended.signal });
  const answer = createAnswerTask({ ...parts, desk });
  const atWork = new Map<string, Promise<void>>();
  const restsUntil = new RecentMap<string, number>(MOST_RESTING);
  /** Work that takes long, or fails, does not keep the other work waiting. */
  const begin = (name: string, about: object, work: () => Promise<void>): void => {
    if (atWork.has(name) || (restsUntil.get(name) ?? 0) > performance.now()) return;
    restsUntil.delete(name);
    const ended = work()
      .catch((error: unknown) => {
        restsUntil.set(name, performance.now() + RETRY_MS);
        log.info({ ...about, err: error }, 'what plugins want outside of calls could not be done; this is tried again');
      })
      .finally(() => atWork.delete(name));
    atWork.set(name, ended);
  };
  const look = async () => {
    begin('timers', {}, () => fireTimers(parts));
    begin('webhooks', {}, async () => {
      for (const place of await parts.store.pluginWebhooks.due()) {
        begin(`webhooks ${place.pluginId} ${place.tenantId}`, { plugin: place.pluginId }, () => deliverRequests({ ...parts, signal: ended.signal }, place));
      }
    });
    for (const { sandboxId, pluginId, tenantId } of await running(parts)) {
      begin(sandboxId, { plugin: pluginId, sandboxId }, async () => parts.registry.plugin(pluginId)?.answerTasks?.(tenantId, answer));
    }
  };
  const rounds = startRounds({
    everyMs: LOOK_EVERY_MS,
    work: look,
    onFailure: (error) => log.debug({ err: error }, 'sandboxes of plugins could not be looked up'),
  });
  return {
    async stop() {
      ended.abort();
      await rounds.stop();
      await Promise.all([...atWork.values(), desk.settled()]);
    },
  };
}

/** The sandboxes of plugins that run on this host. */
async function running({ store, registry, sandboxes: { hostId } }: Parts): Promise<{ sandboxId: string; pluginId: string; tenantId: string }[]> {
  if (hostId === undefined || !registry.tools.some(({ isolation }) => isolation === 'own')) return [];
  const rows = await store.sandboxes.list({ hostId, states: ['running'] });
  return rows.flatMap(({ sandboxId, tenantId, options }) => {
    const pluginId = (options['metadata'] as { plugin?: unknown } | undefined)?.plugin;
    return typeof pluginId === 'string' && sandboxId === ownSandboxIdOf(pluginId, tenantId) ? [{ sandboxId, pluginId, tenantId }] : [];
  });
}
