import type { Plugin } from './define-plugin.ts';
import { createRegistry, type Registry } from './registry.ts';

/** A registry whose plugins may be replaced while it is used. */
export interface LiveRegistry extends Registry {
  /**
   * Puts a plugin in the place of the one with its id. What was looked up before stays as it was.
   * @throws as createRegistry; then nothing is changed.
   */
  replace(plugin: Plugin): void;
}

export function createLiveRegistry(plugins: Plugin[]): LiveRegistry {
  let known = plugins;
  let registry = createRegistry(known);
  return {
    get tools() {
      return registry.tools;
    },
    get: (id) => registry.get(id),
    plugin: (id) => registry.plugin(id),
    forAgent: (agent) => registry.forAgent(agent),
    toAlias: (id) => registry.toAlias(id),
    fromAlias: (alias) => registry.fromAlias(alias),
    replace(plugin) {
      const next = known.map((old) => (old.id === plugin.id ? plugin : old));
      registry = createRegistry(next);
      known = next;
    },
  };
}
