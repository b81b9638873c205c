import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { parseForeign } from '../../contracts/foreign-json.ts';
import { isObject, type Json } from '../../contracts/json.ts';
import type { PluginDefinition } from '../api/define-plugin.ts';
import { readPluginFile } from '../files/read-plugin-file.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import type { PluginLoader } from '../dialects/shared/plugin-dialect.ts';
import { isFile } from '../files/is-file.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

/** Where the code of a plugin is. */
export interface PluginPlace {
  /** Its directory. */
  root: string;
  /** The file that the loader of a dialect knows, else the module that package.json names, else an index file. */
  entry: string;
  /** The loader of its dialect; absent for a module. */
  loader?: PluginLoader;
}

const INDEX_FILES = ['index.js', 'index.mjs', 'index.cjs', 'index.ts'];
/** Files that tools of Python expect. */
const PYTHON_FILES = ['pyproject.toml', 'setup.py', 'requirements.txt', 'main.py'];
const SCOPED_OR_NOT = /^(@[^/]+\/)?[^/]+$/;

/**
 * Finds a plugin by the name that agents write: a directory if it is absolute or begins with `.`, else an npm package.
 * @throws PLUGIN_INVALID with what was looked for, and where
 */
export async function locatePlugin(name: string, directory: string): Promise<PluginPlace> {
  const root = await rootOf(name, directory);
  const named = await packageEntries(name, root);
  for (const { loader } of DIALECTS) {
    const entry = await loader?.locate(root);
    if (loader && entry !== undefined) return { root, entry, loader };
  }
  for (const candidate of [...named, ...INDEX_FILES]) {
    const entry = await fileAt(join(root, candidate));
    if (entry !== undefined) return { root, entry };
  }
  const python = await pythonFileOf(root);
  if (python !== undefined) throw pluginInvalid(name, `${root} is a plugin in Python (${python}) of a kind that is not supported`, insteadOfPython());
  throw pluginInvalid(name, `${root} has none of ${[...named, ...INDEX_FILES].join(', ')}`, 'Put the plugin into one of these');
}

/** The directory of a plugin. @throws PLUGIN_INVALID if there is none. */
export async function rootOf(name: string, directory: string): Promise<string> {
  if (isPath(name)) {
    const root = resolve(directory, name);
    if (await isDirectory(root)) return root;
    throw pluginInvalid(name, `there is no directory ${root}`, 'Correct the path; in the file of an agent it is relative to that file');
  }
  if (!SCOPED_OR_NOT.test(name)) {
    throw pluginInvalid(name, 'this is not the name of a package, nor a path that begins with ./ or ../', `If it is a directory, write ./${name}`);
  }
  for (const modules of modulesAbove(directory)) {
    const root = join(modules, name);
    if (await isDirectory(root)) return root;
  }
  const beside = (await isDirectory(resolve(directory, name))) ? `; there is a directory of this name, which is written ./${name}` : '';
  throw pluginInvalid(name, `no package of this name is installed in ${resolve(directory)} or above${beside}`, `Run: npm install ${name}`);
}

/** Whether a plugin's name means a directory and not a package. */
export function isPath(name: string): boolean {
  return isAbsolute(name) || name.startsWith('.');
}

/** The directories in which a package may be installed for the code in a directory, the nearest first. */
export function modulesAbove(directory: string): string[] {
  const at = resolve(directory);
  const above = dirname(at);
  return [join(at, 'node_modules'), ...(above === at ? [] : modulesAbove(above))];
}

/** Id, version and description for a plugin that does not give them: those of its package.json. The id can also come from the name of the directory. */
export async function defaultsOf(root: string): Promise<Partial<PluginDefinition>> {
  const file = await readPluginFile(root, 'package.json').then(
    (text) => parseForeign(text) as PackageFile,
    (): PackageFile => ({}),
  );
  const {
    name = basename(root)
      .toLowerCase()
      .replaceAll(/[^a-z0-9.-]+/g, '-'),
    version,
    description,
  } = file;
  return { id: name, ...(typeof version === 'string' && { version }), ...(typeof description === 'string' && { description }) };
}

interface PackageFile {
  name?: string;
  version?: unknown;
  description?: unknown;
}

async function packageEntries(name: string, root: string): Promise<string[]> {
  const path = join(root, 'package.json');
  if (!(await isFile(path))) return [];
  const text = await readPluginFile(root, 'package.json').catch((error: Error) => {
    throw pluginInvalid(name, `${path} cannot be read: ${error.message}`, 'Put the file itself there', error);
  });
  let file: Json;
  try {
    file = parseForeign(text);
  } catch (error) {
    throw pluginInvalid(name, `${path} cannot be read as JSON (${(error as Error).message})`, 'Correct that file', error);
  }
  if (!isObject(file)) throw pluginInvalid(name, `${path} is no JSON object`, 'Correct that file');
  const { exports, main } = file;
  const exported = isObject(exports) ? (exports['.'] ?? exports) : exports;
  return [conditionOf(exported), main].filter((entry) => typeof entry === 'string');
}

function conditionOf(exported: unknown): string | undefined {
  if (typeof exported === 'string') return exported;
  if (exported === null || typeof exported !== 'object') return undefined;
  const conditions = exported as Record<string, unknown>;
  return conditionOf(conditions['node'] ?? conditions['import'] ?? conditions['default'] ?? conditions['require']);
}

/** The file that a package means by a path. As in Node, `main` may omit the extension and may name a directory. */
async function fileAt(path: string): Promise<string | undefined> {
  for (const candidate of [path, `${path}.js`, `${path}.cjs`, join(path, 'index.js'), join(path, 'index.cjs')]) {
    if (await isFile(candidate)) return candidate;
  }
  return undefined;
}

async function pythonFileOf(root: string): Promise<string | undefined> {
  for (const name of [...DIALECTS.flatMap(({ pythonFiles = [] }) => pythonFiles), ...PYTHON_FILES]) if (await isFile(join(root, name))) return name;
  const names = await readdir(root).catch(() => []);
  return names.find((name) => name.endsWith('.py'));
}

function insteadOfPython(): string {
  const sdks = DIALECTS.flatMap(({ pythonFiles, sdk }) => (pythonFiles && sdk ? [sdk.imports[0]] : []));
  const kinds = DIALECTS.flatMap(({ original }) => original ?? []);
  return `One that is loaded as it is has ${kinds.join(', or ')}. Otherwise write it with ${sdks.join(' or ')}, which have the same interfaces (docs/guides/plugins.md), offer its tools by an MCP server in Python (docs/guides/mcp.md), or let the agent run Python in the sandbox with the tools of code`;
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
