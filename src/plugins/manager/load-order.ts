import type { Plugin } from '../api/define-plugin.ts';

export interface LoadOrder<Item> {
  /** Each plugin after all its dependencies. */
  ordered: Item[];
  /** Plugins that cannot be loaded, and why. */
  problems: Map<Item, string>;
}

/**
 * Orders plugins so that each comes after its dependencies; plugins that do not depend on each other keep their order.
 * A missing dependency or a cycle is a problem of the plugins that lead to it, and of no others.
 * @param present ids of plugins that are loaded already
 */
export function loadOrder<Item extends { plugin: Pick<Plugin, 'id' | 'dependencies'> }>(items: Item[], present: ReadonlySet<string>): LoadOrder<Item> {
  const byId = new Map(items.map((item) => [item.plugin.id, item]));
  const ordered = new Set<Item>();
  const problems = new Map<Item, string>();
  const visit = (item: Item, path: string[]): void => {
    if (ordered.has(item) || problems.has(item)) return;
    const { id, dependencies = [] } = item.plugin;
    for (const needed of dependencies) {
      const problem = problemOf(needed, [...path, id]);
      // A cycle may have reported this plugin during the visit.
      if (problem !== undefined && !problems.has(item)) problems.set(item, problem);
    }
    if (!problems.has(item)) ordered.add(item);
  };
  const problemOf = (needed: string, path: string[]): string | undefined => {
    if (path.includes(needed)) return `it depends on itself: ${[...path.slice(path.indexOf(needed)), needed].join(' → ')}`;
    const item = byId.get(needed);
    if (!item) return present.has(needed) ? undefined : `it depends on the plugin "${needed}", which is not loaded`;
    visit(item, path);
    return problems.has(item) ? `it depends on the plugin "${needed}", which cannot be loaded` : undefined;
  };
  for (const item of items) visit(item, []);
  return { ordered: [...ordered], problems };
}
