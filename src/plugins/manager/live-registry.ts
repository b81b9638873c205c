import type { Registry } from '../registry/registry.ts';

/** A registry whose plugins may be replaced while it is used: the newest snapshot answers each question. */
export interface LiveRegistry extends Registry {
  replace(snapshot: Registry): void;
}

export function createLiveRegistry(first: Registry): LiveRegistry {
  let snapshot = first;
  return {
    get tools() {
      return snapshot.tools;
    },
    get: (id) => snapshot.get(id),
    plugin: (id) => snapshot.plugin(id),
    forAgent: (agent) => snapshot.forAgent(agent),
    toAlias: (id) => snapshot.toAlias(id),
    fromAlias: (alias) => snapshot.fromAlias(alias),
    replacing: (plugins) => snapshot.replacing(plugins),
    replace(next) {
      snapshot = next;
    },
  };
}
