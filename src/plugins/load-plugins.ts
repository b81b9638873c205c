import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failure, isFailure } from '../contracts/errors.ts';
import type { Plugin, PluginDefinition } from './define-plugin.ts';
import { loadPandora } from './dialects/pandora/load-pandora.ts';
import { MANIFEST_FILE } from './dialects/pandora/manifest.ts';
import { adoptModule } from './adopt-module.ts';
import { checkNekroPlugin } from './dialects/nekro/check-loaded.ts';
import { bundlePlugin } from './isolates/bundle-plugin.ts';
import type { Isolates } from './isolates/load-isolated.ts';
import { whatWasMissed } from './isolates/not-in-a-compartment.ts';
import { createRegistry, type RegisteredTool } from './registry.ts';

export interface LoadedPlugins {
  plugins: Plugin[];
  /** Plugins that could not be loaded, each with a PLUGIN_INVALID or PLUGIN_COLLISION. The others work without them. */
  problems: { name: string; error: Error }[];
}

export interface LoadOptions {
  /** Where names are looked for. */
  directory: string;
  known?: Plugin[];
  /** Where plugins run; without it only those of `hostPlugins` can be loaded. */
  isolates?: Isolates | undefined;
  /** Names, as agents give them, of the plugins that the operator trusts with the worker's own process. */
  hostPlugins?: string[];
  /** Reads what runs in the host process again, though it was imported before; modules that it imports itself stay as they are. */
  again?: boolean;
  /** Compiles the schemas of a plugin's tools. One that is used for many plugins spares each of them the schema of schemas, which takes far longer. */
  register?: (plugin: Plugin) => RegisteredTool[];
}

const INDEX_FILES = ['index.js', 'index.mjs', 'index.ts'];

/**
 * Loads plugins by the names that agents give: absolute or `./` directories, or npm packages, both looked for from `directory`.
 * The code of a plugin runs in a fenced process of its own, or in this one where the operator says so. A plugin that fails is reported and does not stop the others; the same one named twice is loaded once.
 */
export async function loadPlugins(names: string[], options: LoadOptions): Promise<LoadedPlugins> {
  const { directory, known = [] } = options;
  const loaded = new Map<string, { name: string; plugin: Plugin }>(known.map((plugin) => [plugin.id, { name: 'a built-in plugin', plugin }]));
  const problems: LoadedPlugins['problems'] = [];
  const seen = new Set<string>();
  for (const name of names) {
    try {
      const entry = await entryOf(name, directory);
      if (seen.has(entry)) continue;
      seen.add(entry);
      const plugin = await loadEntry(name, entry, options);
      const first = loaded.get(plugin.id);
      if (first) throw failure('PLUGIN_COLLISION', { id: plugin.id, first: first.name, second: name });
      checkNekroPlugin(name, plugin, loaded.values());
      loaded.set(plugin.id, { name, plugin });
    } catch (error) {
      problems.push({ name, error: isFailure(error) ? error : invalid(name, (error as Error).message, 'Mend it or take it out of the agent', error) });
    }
  }
  return { plugins: [...loaded.values()].map(({ plugin }) => plugin), problems };
}

async function loadEntry(name: string, entry: string, { isolates, hostPlugins = [], again = false, register }: LoadOptions): Promise<Plugin> {
  const trusted = hostPlugins.includes(name);
  const plugin = await (basename(entry) === MANIFEST_FILE
    ? loadPandora({ name, root: dirname(entry), isolates, trusted })
    : trusted
      ? importPlugin(name, entry, again)
      : isolatePlugin(name, entry, isolates));
  // Compiles its schemas, so that a wrong one is a problem of this plugin and not of all.
  createRegistry([plugin], { ...(register && { register }) });
  return plugin;
}

async function isolatePlugin(name: string, entry: string, isolates: Isolates | undefined): Promise<Plugin> {
  if (!isolates) throw invalid(name, 'this process fences no plugins', 'Load it in a worker, or name it in LONGSHORE_HOST_PLUGINS');
  const [code, defaults] = await Promise.all([bundlePlugin(name, entry), defaultsOf(entry)]);
  try {
    return await isolates.load({ name, code, defaults });
  } catch (error) {
    if (isFailure(error, 'PLUGIN_INVALID')) throw error;
    const { message } = error as Error;
    throw invalid(name, `${entry} cannot be loaded (${message}${whatWasMissed(message, code)})`, 'Mend that file', error);
  }
}

async function importPlugin(name: string, entry: string, again: boolean): Promise<Plugin> {
  let module: { default?: unknown };
  try {
    module = (await import(`${pathToFileURL(entry).href}${again ? `?${(await stat(entry)).mtimeMs}` : ''}`)) as { default?: unknown };
  } catch (error) {
    throw invalid(name, `${entry} cannot be imported (${(error as Error).message})`, 'Mend that file', error);
  }
  return adoptModule(name, entry, module, await defaultsOf(entry));
}

/** The file to import: what package.json names, else an index file. */
async function entryOf(name: string, directory: string): Promise<string> {
  const root = await rootOf(name, directory);
  const candidates = [...(await packageEntries(name, root)), ...INDEX_FILES];
  for (const candidate of [MANIFEST_FILE, ...candidates]) {
    const path = join(root, candidate);
    if (await isFile(path)) return path;
  }
  throw invalid(name, `${root} has none of ${candidates.join(', ')}`, 'Put the plugin into index.js, index.mjs or index.ts');
}

/** The directory of a plugin. @throws PLUGIN_INVALID where there is none. */
export async function rootOf(name: string, directory: string): Promise<string> {
  if (isAbsolute(name) || name.startsWith('.')) {
    const root = resolve(directory, name);
    if (await isDirectory(root)) return root;
    throw invalid(name, `there is no directory ${root}`, 'Paths are relative to the file of the agent');
  }
  for (let at = resolve(directory); ; at = dirname(at)) {
    const root = join(at, 'node_modules', name);
    if (await isDirectory(root)) return root;
    if (at === dirname(at)) throw invalid(name, `no package of this name is installed for ${directory}`, `Run: npm install ${name}`);
  }
}

/** What a class plugin is called that does not say it: as its package, else as its directory. */
async function defaultsOf(entry: string): Promise<Partial<PluginDefinition>> {
  const root = dirname(entry);
  const file = await readFile(join(root, 'package.json'), 'utf8').then(
    (text) => JSON.parse(text) as PackageFile,
    (): PackageFile => ({}),
  );
  const {
    name = basename(root)
      .toLowerCase()
      .replaceAll(/[^a-z0-9.-]+/g, '-'),
    version,
    description,
  } = file;
  return { id: name, ...(version !== undefined && { version }), ...(description !== undefined && { description }) };
}

interface PackageFile {
  name?: string;
  version?: string;
  description?: string;
  main?: string;
  exports?: string | Record<string, unknown>;
}

async function packageEntries(name: string, root: string): Promise<string[]> {
  const path = join(root, 'package.json');
  if (!(await isFile(path))) return [];
  let file: PackageFile;
  try {
    file = JSON.parse(await readFile(path, 'utf8')) as PackageFile;
  } catch (error) {
    throw invalid(name, `${path} is not JSON (${(error as Error).message})`, 'Mend that file', error);
  }
  const exported = typeof file.exports === 'object' ? (file.exports['.'] ?? file.exports) : file.exports;
  return [conditionOf(exported), file.main].filter((entry) => typeof entry === 'string');
}

function conditionOf(exported: unknown): string | undefined {
  if (typeof exported === 'string') return exported;
  if (exported === null || typeof exported !== 'object') return undefined;
  const conditions = exported as Record<string, unknown>;
  return conditionOf(conditions['node'] ?? conditions['import'] ?? conditions['default']);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function invalid(name: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
}
