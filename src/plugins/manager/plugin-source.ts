import type { Agent, PluginPin } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { Isolates } from '../isolates/load-isolated.ts';
import { loadPlugins, type LoadOptions } from '../load/load-plugins.ts';
import { rootOf } from '../load/locate-plugin.ts';
import { checkPin } from './pins.ts';

/** A plugin as agents name it. */
export interface PluginSource {
  name: string;
  /** The versions, digests and permissions that the agents require. */
  pins: PluginPin[];
  /** Ids of the agents that name it. */
  agents: string[];
}

/** The code of a source: loaded, but not yet started. */
export interface LoadedSource extends AsyncDisposable {
  /** More than one where a directory contains several. */
  plugins: Plugin[];
  /** Errors of the parts that could not be loaded. */
  problems: Error[];
}

export type ManagedSourceOptions = Pick<LoadOptions, 'directory' | 'hostPlugins' | 'again' | 'register' | 'sandboxes'> & { isolates: Isolates | undefined };

/** The sources that agents name, each once, in the order of their first mention. */
export function sourcesOf(agents: Iterable<Pick<Agent, 'id' | 'plugins' | 'pluginPins'>>): PluginSource[] {
  const sources = new Map<string, PluginSource>();
  for (const { id, plugins, pluginPins = {} } of agents) {
    for (const name of plugins) {
      const source = sources.get(name) ?? { name, pins: [], agents: [] };
      const pin = pluginPins[name];
      if (pin) source.pins.push(pin);
      if (!source.agents.includes(id)) source.agents.push(id);
      sources.set(name, source);
    }
  }
  return [...sources.values()];
}

/**
 * Loads a source. Disposing it ends its processes.
 * @throws PLUGIN_INVALID, or another problem that `loadPlugins` reports, when nothing of it can be loaded.
 */
export async function loadSource({ name, pins }: Pick<PluginSource, 'name' | 'pins'>, { isolates, ...options }: ManagedSourceOptions): Promise<LoadedSource> {
  if (options.hostPlugins?.includes(name) && pins.some(({ permissions }) => permissions !== undefined)) throw unbounded(name);
  await checkPins(name, pins, options);
  const group = isolates?.group();
  const { plugins, problems } = await loadPlugins([name], { ...options, isolates: group });
  const errors = problems.map(({ error }) => error);
  try {
    if (plugins.length === 0) throw errors[0] ?? new Error(`${name} has no plugin`);
    // The files may have been replaced since the first check, and before they were read.
    await checkPins(name, pins, options);
  } catch (error) {
    await group?.[Symbol.asyncDispose]();
    throw error;
  }
  // Not copied: `load` may change the plugin's fields. The source is set here and not by the plugin, because it decides which agents get the plugin's tools.
  for (const plugin of plugins) plugin.source = name;
  return {
    plugins,
    problems: errors,
    async [Symbol.asyncDispose]() {
      await group?.[Symbol.asyncDispose]();
    },
  };
}

async function checkPins(name: string, pins: PluginPin[], { directory }: Pick<ManagedSourceOptions, 'directory'>): Promise<void> {
  if (pins.length === 0) return;
  const root = await rootOf(name, directory);
  for (const pin of pins) await checkPin(name, root, pin);
}

function unbounded(name: string): Error {
  return failure('PLUGIN_INVALID', {
    plugin: JSON.stringify(name),
    problem: "an agent bounds its permissions, and it runs in the worker's own process, where no bound holds",
    fix: 'Take it out of LONGSHORE_HOST_PLUGINS, or take "permissions" away from its entry in the agent\'s file',
  });
}
