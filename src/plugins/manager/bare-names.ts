import { failure, isFailure } from '../../contracts/errors.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { isCallable } from '../registry/is-callable.ts';
import type { Household, ManagedSource } from './household.ts';
import type { PluginInstance } from './plugin-instance.ts';

/** Code in the sandbox calls the tools of some dialects by their bare names, so an agent can have only one such tool of each name. */

interface SourcedPlugin {
  plugin: Pick<Plugin, 'id' | 'dialect' | 'tools'>;
  source: Pick<ManagedSource['source'], 'agents'>;
}

/** Plugins of a source that have been started, but are not yet in the place of those that it runs, and may never be. */
interface Started {
  managed: ManagedSource;
  instances: PluginInstance[];
}

/** @throws METHOD_COLLISION naming the other plugin, which runs or has been started */
export function refuseSharedNames(household: Household, managed: ManagedSource, plugin: Plugin, started: Started[] = []): void {
  const collision = collisionOfNames({ plugin, source: managed.source }, besides(household, managed, started));
  if (collision) throw collision;
}

/** True when a plugin of the source was refused because of the name of a method, and no other plugin has that name now. */
export function isFreed(household: Household, managed: ManagedSource): boolean {
  const { source, problems, described = [] } = managed;
  const refused = problems.filter(({ error }) => isFailure(error, 'METHOD_COLLISION')).map(({ pluginId }) => pluginId);
  const others = besides(household, managed, []);
  return described.some((plugin) => refused.includes(plugin.id) && household.isEnabled(plugin.id) && !collisionOfNames({ plugin, source }, others));
}

/** A METHOD_COLLISION if an agent has the plugin and one of `others`, and code could not tell two of their tools apart. */
export function collisionOfNames({ plugin, source }: SourcedPlugin, others: SourcedPlugin[]): Error | undefined {
  const own = new Set(bareNamesOf(plugin));
  for (const other of others) {
    const agent = source.agents.find((id) => other.source.agents.includes(id));
    const method = bareNamesOf(other.plugin).find((name) => own.has(name));
    if (agent !== undefined && method !== undefined) return failure('METHOD_COLLISION', { plugin: plugin.id, method, other: other.plugin.id, agent });
  }
  return undefined;
}

/** The enabled plugins that run or have been started, without those that run of `managed`. */
function besides(household: Household, managed: ManagedSource, started: Started[]): SourcedPlugin[] {
  const running = household.sources.filter((other) => other !== managed).map((other) => ({ managed: other, instances: other.instances }));
  const all = [...running, ...started].flatMap(({ managed: { source }, instances }) => instances.map(({ plugin }) => ({ source, plugin })));
  return all.filter(({ plugin }) => household.isEnabled(plugin.id));
}

function bareNamesOf({ dialect, tools }: SourcedPlugin['plugin']): string[] {
  return dialectNamed(dialect).hasBareNames ? tools.filter(isCallable).map(({ id }) => id) : [];
}
