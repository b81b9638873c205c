import type { PluginStore, StoreScope } from '../plugins/tool-context.ts';
import type { PluginShelf } from '../store/plugin-rows.ts';
import type { ToolRun } from './tool-run.ts';

/** The store of a call's plugin, with the scopes that belong to its conversation and user. */
export function storeFor({ store: { pluginStore }, args, tool }: Pick<ToolRun, 'store' | 'args' | 'tool'>): PluginStore {
  const { tenantId, conversationId, userId } = args;
  const owner = { pluginId: tool.pluginId, tenantId };
  const shelves: Record<StoreScope, PluginShelf> = {
    'conversation-user': { ...owner, conversationId, userId },
    conversation: { ...owner, conversationId },
    user: { ...owner, userId },
    plugin: owner,
  };
  const shelfOf = (scope: StoreScope = 'conversation-user'): PluginShelf => shelves[scope];
  return {
    get: async (key, scope) => (await pluginStore.entry(shelfOf(scope), key))?.value,
    entry: (key, scope) => pluginStore.entry(shelfOf(scope), key),
    set: (key, value, { scope, ...options } = {}) => pluginStore.set(shelfOf(scope), key, value, options),
    delete: (key, scope) => pluginStore.delete(shelfOf(scope), key),
    list: (prefix = '', scope) => pluginStore.list(shelfOf(scope), prefix),
  };
}
