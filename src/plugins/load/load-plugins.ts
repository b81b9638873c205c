import { stat } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Plugin, PluginDefinition } from '../api/define-plugin.ts';
import { adoptModule } from '../api/adopt-module.ts';
import type { OpenPluginSandboxes, PluginCode } from '../dialects/shared/plugin-dialect.ts';
import { bundlePlugin } from '../isolates/bundle-plugin.ts';
import type { Isolates } from '../isolates/load-isolated.ts';
import { whatWasMissed } from '../bundle/not-in-a-compartment.ts';
import { defaultsOf, locatePlugin, type PluginPlace } from './locate-plugin.ts';
import { UNVERSIONED } from '../api/plugin-details.ts';
import { createRegistry, type RegisteredTool } from '../registry/registry.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

export interface LoadedPlugins {
  plugins: Plugin[];
  /** Plugins that could not be loaded, each with a PLUGIN_INVALID or PLUGIN_COLLISION. The others work without them. */
  problems: { name: string; error: Error }[];
}

export interface LoadOptions {
  /** Directory in which names are looked up. */
  directory: string;
  known?: Plugin[];
  /** Processes in which plugins run. Without it, only those of `hostPlugins` can be loaded. */
  isolates?: Isolates | undefined;
  /** Sandboxes for plugins that need their own. */
  sandboxes?: OpenPluginSandboxes | undefined;
  /** Names, as agents write them, of the plugins that the operator trusts to run in the worker's own process. */
  hostPlugins?: string[];
  /** Imports a plugin of the host process again if its entry file has changed. Modules that this file imports are not imported again. */
  again?: boolean;
  /** Compiles the schemas of a plugin's tools. Use the same function for many plugins: it compiles the meta-schema, which takes far longer, only once. */
  register?: (plugin: Plugin) => RegisteredTool[];
}

/**
 * Loads plugins by the names that agents write: absolute or `./` directories, or npm packages, both looked up from `directory`.
 * The code of a plugin runs in its own isolated process, or in this one if `hostPlugins` names the plugin. A plugin that fails is reported and does not stop
 * the others; a plugin that is named twice is loaded once.
 */
export async function loadPlugins(names: string[], options: LoadOptions): Promise<LoadedPlugins> {
  const { directory, known = [] } = options;
  const loaded = new Map<string, { name: string; plugin: Plugin }>(known.map((plugin) => [plugin.id, { name: 'a built-in plugin', plugin }]));
  const problems: LoadedPlugins['problems'] = [];
  const seen = new Set<string>();
  for (const name of names) {
    try {
      const place = await locatePlugin(name, directory);
      if (seen.has(place.entry)) continue;
      seen.add(place.entry);
      const plugin = await loadPlace(name, place, options);
      const first = loaded.get(plugin.id);
      if (first) throw failure('PLUGIN_COLLISION', { id: plugin.id, first: first.name, second: name });
      loaded.set(plugin.id, { name, plugin });
    } catch (error) {
      problems.push({ name, error: isFailure(error) ? error : pluginInvalid(name, (error as Error).message, 'Correct it or take it out of the agent', error) });
    }
  }
  return { plugins: [...loaded.values()].map(({ plugin }) => plugin), problems };
}

async function loadPlace(name: string, place: PluginPlace, { isolates, sandboxes, hostPlugins = [], again = false, register }: LoadOptions): Promise<Plugin> {
  const isTrusted = hostPlugins.includes(name);
  const defaults = await defaultsOf(place.root);
  const plugin = await (place.loader
    ? place.loader.load({ name, root: place.root, isTrusted, sandboxes, ...(isolates && { isolate: isolateCode(name, place.root, isolates) }) })
    : isTrusted
      ? importPlugin(name, place, defaults, again)
      : isolatePlugin(name, place, defaults, isolates));
  // Approvals are bound to the version: one for a version of a package must not count for another version.
  if (plugin.version === UNVERSIONED) plugin.version = defaults.version ?? UNVERSIONED;
  // Compiles the schemas, so that an invalid one is a problem of this plugin and not of all.
  for (const tool of createRegistry([plugin], { ...(register && { register }) }).tools) await tool.compiled();
  return plugin;
}

function isolateCode(name: string, root: string, isolates: Isolates) {
  return async ({ entry, wrapper, ...options }: PluginCode): Promise<Plugin> => {
    const bundle = await bundlePlugin(name, { root, entry, ...(wrapper !== undefined && { wrapper }) });
    return isolates.load({ name, ...bundle, ...options });
  };
}

async function isolatePlugin(name: string, { root, entry }: PluginPlace, defaults: Partial<PluginDefinition>, isolates: Isolates | undefined): Promise<Plugin> {
  if (!isolates) throw pluginInvalid(name, 'this process cannot isolate plugins', 'Load it in a worker, or name it in LONGSHORE_HOST_PLUGINS');
  const bundle = await bundlePlugin(name, { root, entry });
  try {
    return await isolates.load({ name, ...bundle, defaults });
  } catch (error) {
    if (isFailure(error, 'PLUGIN_INVALID')) throw error;
    const { message } = error as Error;
    throw pluginInvalid(name, `${entry} cannot be loaded (${message}${whatWasMissed(message, bundle.code)})`, 'Correct that file', error);
  }
}

async function importPlugin(name: string, { entry }: PluginPlace, defaults: Partial<PluginDefinition>, again: boolean): Promise<Plugin> {
  let module: { default?: unknown };
  try {
    module = (await import(`${pathToFileURL(entry).href}${again ? `?${(await stat(entry)).mtimeMs}` : ''}`)) as { default?: unknown };
  } catch (error) {
    throw pluginInvalid(name, `${entry} cannot be imported (${(error as Error).message})`, 'Correct that file', error);
  }
  return adoptModule(name, entry, module, defaults);
}
