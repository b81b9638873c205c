import type { PluginConversation } from '../../plugins/api/plugin.ts';
import type { PluginStore, StoreScope } from '../../plugins/api/tool-context.ts';
import type { PluginShelf } from '../../store/plugin-rows.ts';
import type { Store } from '../../store/store.ts';

/** The store of a plugin, with the scopes that belong to a conversation and its user. */
export function storeOf(
  { pluginStore }: Pick<Store, 'pluginStore'>,
  pluginId: string,
  { tenantId, conversationId, userId }: Pick<PluginConversation, 'tenantId' | 'conversationId' | 'userId'>,
): PluginStore {
  const owner = { pluginId, tenantId };
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
