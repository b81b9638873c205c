import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from '../../../api/define-plugin.ts';
import { isFile } from '../../../files/is-file.ts';
import { readPluginFile } from '../../../files/read-plugin-file.ts';
import type { LocatedPlugin } from '../../shared/plugin-dialect.ts';
import { describe } from '../../shared/python/describe.ts';
import { programsAt } from '../../shared/python/layers.ts';
import { readText, usableId } from '../../shared/python/plugin-text.ts';
import { openSandboxes, prepareProgram, pythonPlugin, type DialectPrograms } from '../../shared/python/python-plugin.ts';
import { requirementsOf } from '../../shared/python/requirements.ts';
import { describedSchema } from './described.ts';
import { partsOf } from './methods.ts';

const ENTRIES = ['__init__.py', 'plugin.py'];
const PROGRAMS: DialectPrograms = {
  entry: 'nekro_host.py',
  files: programsAt(import.meta.url, 'longshore_nekro', ['nekro_host.py']),
};
/** Packages that Nekro Agent itself brings and that plugins use without naming them. One that a plugin names has the versions that the plugin wants. */
const BROUGHT = [
  'aiofiles>=24.1',
  'aiohttp>=3.11',
  'fastapi',
  'httpx[socks]>=0.27,<0.28',
  'jinja2>=3.1',
  'json5',
  'openai>=1.107,<2',
  'pillow',
  'psutil',
  'pydantic>=2',
  'pyyaml',
  'requests',
  'sse-starlette>=2.2,<3',
  'toml',
  'tzlocal>=5',
];
/** Others that it brings; only plugins that import these modules get them. */
const BROUGHT_IF_IMPORTED: Record<string, string> = {
  aiodocker: 'aiodocker',
  aiosqlite: 'aiosqlite',
  bs4: 'beautifulsoup4',
  croniter: 'croniter',
  Crypto: 'pycryptodome',
  matplotlib: 'matplotlib',
  numpy: 'numpy',
  openpyxl: 'openpyxl',
  pandas: 'pandas',
  pypdf: 'pypdf',
  websockets: 'websockets',
};
/** Files in which a plugin is looked for. */
const MOST_FILES = 200;

/** The entry of a plugin that is written for Nekro Agent, in Python. */
export async function locateOriginal(root: string): Promise<string | undefined> {
  for (const name of ENTRIES) if (await isFile(join(root, name))) return (await makesPlugin(root)) ? join(root, name) : undefined;
  return undefined;
}

async function makesPlugin(root: string): Promise<boolean> {
  for await (const source of sourcesAt(root)) if (source.includes('nekro_agent') && source.includes('NekroPlugin')) return true;
  return false;
}

/** The files of its own code, those at the top first. */
async function* sourcesAt(root: string): AsyncGenerator<string> {
  const names = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.py') && !/(^|\/)(tests?|docs|node_modules|\.\w+)\//.test(name));
  for (const name of names.toSorted((a, b) => a.split('/').length - b.split('/').length).slice(0, MOST_FILES)) {
    yield await readPluginFile(root, name).catch(() => '');
  }
}

/**
 * Loads a plugin that is written for Nekro Agent, as it is.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadOriginal(located: LocatedPlugin): Promise<Plugin> {
  const { name, root } = located;
  const given = await openSandboxes(located);
  const program = await prepareProgram(located, given, PROGRAMS, await requirementsAt(name, root));
  const describing = { name, given, program: { pluginId: name, ...program }, schema: describedSchema };
  const first = await describe(describing, {});
  const { moduleName, version, description, configSchema } = first;
  const id = usableId(moduleName.toLowerCase().replaceAll('_', '-').replace(/^-+/, ''), 'nekro');
  return pythonPlugin({
    ...describing,
    program: { pluginId: id, ...program },
    first,
    identity: { id, version, description, dialect: 'nekro', configSchema },
    parts: (described, reached) => partsOf(id, described, reached),
  });
}

/** What its list wants, and what Nekro Agent brings. @throws PLUGIN_INVALID */
export async function requirementsAt(name: string, root: string): Promise<string[]> {
  const own = requirementsOf(name, [], await readText(name, root, 'requirements.txt', ''));
  const named = new Set(own.map(packageOf));
  const imported = new Set<string>();
  for await (const source of sourcesAt(root)) for (const [, module = ''] of source.matchAll(/^[ \t]*(?:from|import)[ \t]+(\w+)/gm)) imported.add(module);
  const brought = [...BROUGHT, ...Object.entries(BROUGHT_IF_IMPORTED).flatMap(([module, requirement]) => (imported.has(module) ? [requirement] : []))];
  return [...own, ...brought.filter((line) => !named.has(packageOf(line)))].toSorted();
}

/** The name of the package of a requirement, as pip compares names. */
function packageOf(requirement: string): string {
  const [written = ''] = /^[\w.-]+/.exec(requirement) ?? [];
  return written.toLowerCase().replaceAll(/[-_.]+/g, '-');
}
