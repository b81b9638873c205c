import type { Json } from '../../../../src/contracts/json.ts';
import type { PluginStore } from '../../../../src/plugins/api/define-plugin.ts';

/** The store of a plugin in memory, with one scope. */
export function memoryStore(): PluginStore {
  const entries = new Map<string, { value: Json; version: number }>();
  let last = 0;
  return {
    get: async (key) => entries.get(key)?.value,
    entry: async (key) => entries.get(key),
    async set(key, value, { ifVersion } = {}) {
      const before = entries.get(key);
      if (ifVersion !== undefined && ifVersion !== (before?.version ?? 0)) return 'conflict';
      entries.set(key, { value, version: (last += 1) });
      return before ? 'updated' : 'created';
    },
    delete: async (key) => entries.delete(key),
    list: async (prefix = '') => [...entries.keys()].filter((key) => key.startsWith(prefix)).toSorted(),
  };
}
