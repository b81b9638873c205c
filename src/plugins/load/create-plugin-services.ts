import { readEnvironment, type Config } from '../../platform/config.ts';
import { createGuardedFetch, type GuardedFetch } from '../../network/guarded-fetch.ts';
import { readAddresses } from '../../network/read-addresses.ts';
import type { PluginServices } from '../api/plugin-services.ts';

const SETTING = 'LONGSHORE_PLUGIN_ADDRESSES';

/**
 * What a worker provides to its plugins. Calls that may reach the same hosts share connections; disposal closes these.
 * @throws CONFIG_INVALID for invalid addresses.
 */
export function createPluginServices(
  { LONGSHORE_FILES: filesDirectory, LONGSHORE_PLUGIN_ADDRESSES: addresses }: Pick<Config, 'LONGSHORE_FILES' | 'LONGSHORE_PLUGIN_ADDRESSES'>,
  configOf: PluginServices['configOf'] = () => ({}),
): PluginServices & AsyncDisposable {
  const allowAddresses = readAddresses(SETTING, addresses);
  const fetches = new Map<string, GuardedFetch>();
  return {
    environment: readEnvironment,
    configOf,
    fetchFor(hosts) {
      const key = hosts.toSorted().join(' ');
      const guarded = fetches.get(key) ?? createGuardedFetch({ hosts, allowAddresses, setting: SETTING });
      fetches.set(key, guarded);
      return guarded.fetch;
    },
    ...(filesDirectory !== undefined && { filesDirectory }),
    async [Symbol.asyncDispose]() {
      await Promise.all([...fetches.values()].map((guarded) => guarded[Symbol.asyncDispose]()));
    },
  };
}
