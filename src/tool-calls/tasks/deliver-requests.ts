import type { Logger } from '../../platform/log.ts';
import type { Plugin } from '../../plugins/api/define-plugin.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { PluginRequest, PluginWebhookRows } from '../../store/service/plugin-webhooks.ts';

/** Requests of different addresses that are delivered to a plugin of a tenant at the same time. */
const AT_ONCE = 4;
const HOLD_EVERY_MS = 5_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;

interface Parts {
  store: { pluginWebhooks: Pick<PluginWebhookRows, 'claim' | 'release' | 'hold' | 'begin' | 'end' | 'postpone'> };
  registry: Pick<Registry, 'plugin'>;
  log: Logger;
  /** Aborts when this worker ends: others go on with what it has begun. */
  signal: AbortSignal;
}

interface Place {
  pluginId: string;
  tenantId: string;
}

/** Gives the requests that wait to the plugin, those of an address one after the other. Its function is called once for each, whichever workers die. */
export async function deliverRequests(parts: Parts, place: Place): Promise<void> {
  const plugin = parts.registry.plugin(place.pluginId);
  const receive = plugin?.receive?.bind(plugin);
  // It waits until a worker has a version of the plugin that takes it.
  if (!receive) return;
  const deliver = async () => {
    while (!parts.signal.aborted) {
      const request = await parts.store.pluginWebhooks.claim(place);
      if (!request) return;
      await deliverOne(parts, place, request, receive);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, deliver));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

async function deliverOne(
  { store: { pluginWebhooks }, log, signal }: Parts,
  { pluginId, tenantId }: Place,
  request: PluginRequest,
  receive: NonNullable<Plugin['receive']>,
): Promise<void> {
  const { requestId } = request;
  const held = setInterval(() => void pluginWebhooks.hold(requestId).catch(() => undefined), HOLD_EVERY_MS);
  try {
    const { result, forget } = await receive({ ...request, tenantId, begin: () => pluginWebhooks.begin(request), signal });
    if (result.outcome === 'dropped') return;
    if (result.outcome === 'postponed') {
      await pluginWebhooks.postpone(request, Math.min(FIRST_WAIT_MS * 2 ** request.attempts, LONGEST_WAIT_MS));
      log.info({ plugin: pluginId, requestId, problem: result.problem }, 'a request of a webhook could not be delivered; this is tried again');
    } else {
      await pluginWebhooks.end(requestId, result.outcome === 'failed' ? result.problem : undefined);
      if (result.outcome === 'failed') log.warn({ plugin: pluginId, requestId, problem: result.problem }, 'a request of a webhook has failed');
    }
    await forget().catch(() => undefined);
  } catch (error) {
    // Another worker may be able to: the sandbox may be on its host.
    await pluginWebhooks.release(requestId).catch(() => undefined);
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(held);
  }
}
