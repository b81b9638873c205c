import type { Logger } from '../platform/log.ts';
import { ownSandboxIdOf } from '../plugins/dialects/shared/python/own-sandboxes.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Store } from '../store/store.ts';
import { createAnswerTask, type TaskParts } from '../tool-calls/tasks/answer-task.ts';
import { fireTimers } from '../tool-calls/tasks/fire-timers.ts';

const LOOK_EVERY_MS = 1_000;

interface Parts extends Omit<TaskParts, 'store' | 'registry'> {
  store: TaskParts['store'] & Pick<Store, 'sandboxes'>;
  registry: Registry;
  sandboxes: Pick<Sandboxes, 'hostId'>;
  log: Logger;
}

/** Does what tasks of plugins ask in their sandboxes on this host, and gives timers that are due to their conversations, until it is stopped. */
export function startPluginTasks(parts: Parts): { stop(): Promise<void> } {
  const { log } = parts;
  const answer = createAnswerTask(parts);
  const visits = new Map<string, Promise<void>>();
  const visit = (sandboxId: string, pluginId: string, tenantId: string): void => {
    // One that takes long does not keep the others waiting.
    if (visits.has(sandboxId)) return;
    const visiting = parts.registry.plugin(pluginId)?.answerTasks?.(tenantId, answer) ?? Promise.resolve();
    const ended = visiting
      .catch((error: unknown) => log.info({ plugin: pluginId, sandboxId, err: error }, 'what tasks of a plugin ask could not be answered; this is tried again'))
      .finally(() => visits.delete(sandboxId));
    visits.set(sandboxId, ended);
  };
  const look = async () => {
    await fireTimers(parts).catch((error: unknown) => log.debug({ err: error }, 'timers of plugins that are due could not be looked up'));
    for (const { sandboxId, pluginId, tenantId } of await running(parts)) visit(sandboxId, pluginId, tenantId);
  };
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => log.debug({ err: error }, 'sandboxes of plugins could not be looked up'))
      .finally(() => (looking = undefined));
  }, LOOK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
      await Promise.all(visits.values());
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
