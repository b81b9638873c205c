import { z } from 'zod';
import { id, name, read, readOptions, textSchema } from '../common/arguments.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import { MOST_WEBHOOKS } from '../contracts/plugins/webhook.ts';
import type { Store } from '../store/store.ts';
import { makeKeyText, sha256Of } from './key-text.ts';
import type { Plugins, PluginState } from './types/installation-types.ts';

/** Below the address of the service; the secret follows. */
export const WEBHOOK_PATH = '/plugin-webhooks/';

const add = z.strictObject({ endpoint: textSchema(200), tenant: id.optional() });
export const addWebhookOptions = (given: unknown) => readOptions('options of plugins.addWebhook', add, given);
export const webhookIdOf = (given: unknown): string => read('webhookId', name, given);

type WebhookCalls = Pick<Plugins, 'webhooks' | 'addWebhook' | 'removeWebhook'>;

/** Addresses at which outside systems reach functions of plugins. */
export function createPluginWebhookCalls({ pluginWebhooks }: Pick<Store, 'pluginWebhooks'>, get: Plugins['get'], by: AuditSource): WebhookCalls {
  return {
    webhooks: async (plugin) => pluginWebhooks.list((await get(plugin)).id),
    async addWebhook(plugin, options) {
      const { endpoint, tenant: tenantId = 'default' } = addWebhookOptions(options);
      const state = await get(plugin);
      refuseUnknown(state, endpoint);
      const { keyId: webhookId, secret, text } = makeKeyText('lsw');
      const place = { webhookId, pluginId: state.id, tenantId, endpoint };
      const made = await pluginWebhooks.add({ ...place, secretSha256: sha256Of(secret) }, MOST_WEBHOOKS, by);
      if (!made) throw failure('PLUGIN_WEBHOOK_LIMIT', { plugin: state.id, tenant: tenantId, limit: MOST_WEBHOOKS });
      return { ...made, path: WEBHOOK_PATH + text };
    },
    async removeWebhook(plugin, given) {
      const webhookId = webhookIdOf(given);
      const { id: pluginId } = await get(plugin);
      if (!(await pluginWebhooks.remove(pluginId, webhookId, by))) throw failure('PLUGIN_WEBHOOK_NOT_FOUND', { plugin: pluginId, webhookId });
    },
  };
}

/** Requests to the address of an endpoint that does not exist would be stored and never delivered. */
function refuseUnknown({ id: plugin, reports }: PluginState, endpoint: string): void {
  const offered = [...new Set(reports.flatMap(({ webhooks = [] }) => webhooks.map((each) => each.endpoint)))];
  if (offered.includes(endpoint)) return;
  const known = offered.length === 0 ? 'it has no webhooks' : `it has ${offered.map((each) => JSON.stringify(each)).join(', ')}`;
  throw failure('INVALID_ARGUMENT', {
    what: 'endpoint',
    problem: `plugin "${plugin}" has none that is called ${JSON.stringify(endpoint)}; ${known}`,
    fix: `Use one that it has, or load the version that has it: longshore plugins show ${plugin}`,
  });
}
