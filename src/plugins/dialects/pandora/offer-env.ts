import type { PluginHost } from '../../api/plugin.ts';
import { adaptEntries, pick, type AdaptedEntries, type EntryModule } from './adapt-tools.ts';

let variables: Readonly<Record<string, string>> = {};

// Defined before the entries are evaluated, because their bundle imports this module first. Each compartment has an `env` of its own.
Object.defineProperty(globalThis, 'env', {
  value: Object.freeze({ get: (name: unknown) => (Object.hasOwn(variables, String(name)) ? variables[String(name)] : undefined) }),
});

/**
 * Like `adaptEntries`, for entries in a compartment of their own that have the permission `env`. A global `env.get(name)` returns their variables, with the
 * values from the time when the plugin was loaded.
 */
export function adaptWithEnv(modules: EntryModule[]): AdaptedEntries {
  const names = modules.flatMap(({ permissions: { env = [] } }) => env);
  const adapted = adaptEntries(modules);
  const { load: resolve } = adapted;
  return Object.assign(adapted, {
    async load(host: Pick<PluginHost, 'env' | 'config'>) {
      variables = pick(host.env, names);
      return resolve ? resolve(host) : { tools: adapted.tools, alerts: adapted.alerts };
    },
  });
}
