import { join } from 'node:path';
import type { Plugin } from '../../../api/define-plugin.ts';
import { isFile } from '../../../files/is-file.ts';
import type { LocatedPlugin } from '../../shared/plugin-dialect.ts';
import { describe } from '../../shared/python/describe.ts';
import { programsAt } from '../../shared/python/layers.ts';
import { readText, usableId } from '../../shared/python/plugin-text.ts';
import { openSandboxes, prepareProgram, pythonPlugin, type DialectPrograms } from '../../shared/python/python-plugin.ts';
import { requirementsOf, withBrought } from '../../shared/python/requirements.ts';
import { importedOf, sourcesAt } from '../../shared/python/sources.ts';
import { describedSchema } from './described.ts';
import { partsOf } from './methods.ts';

const ENTRIES = ['__init__.py', 'plugin.py'];
const PROGRAMS: DialectPrograms = {
  entry: 'nekro_host.py',
  files: programsAt(import.meta.url, 'longshore_nekro', ['nekro_host.py']),
};
/** What the host of such plugins needs itself. */
const NEEDED = ['pydantic>=2'];
/**
 * Packages that Nekro Agent itself brings and that plugins use without naming them, by the modules that plugins import. One that a plugin names has the versions
 * that the plugin wants. Each sandbox gets a copy of what a plugin has.
 */
const BROUGHT: Record<string, string> = {
  aiodocker: 'aiodocker',
  aiofiles: 'aiofiles>=24.1',
  aiohttp: 'aiohttp>=3.11',
  aiosqlite: 'aiosqlite',
  bs4: 'beautifulsoup4',
  croniter: 'croniter',
  Crypto: 'pycryptodome',
  fastapi: 'fastapi',
  httpx: 'httpx[socks]>=0.27,<0.28',
  jinja2: 'jinja2>=3.1',
  json5: 'json5',
  matplotlib: 'matplotlib',
  numpy: 'numpy',
  openai: 'openai>=1.107,<2',
  openpyxl: 'openpyxl',
  pandas: 'pandas',
  PIL: 'pillow',
  psutil: 'psutil',
  pypdf: 'pypdf',
  requests: 'requests',
  sse_starlette: 'sse-starlette>=2.2,<3',
  starlette: 'fastapi',
  toml: 'toml',
  typing_extensions: 'typing-extensions',
  tzlocal: 'tzlocal>=5',
  websockets: 'websockets',
  yaml: 'pyyaml',
};

/** The entry of a plugin that is written for Nekro Agent, in Python. */
export async function locateOriginal(root: string): Promise<string | undefined> {
  for (const name of ENTRIES) if (await isFile(join(root, name))) return (await makesPlugin(root)) ? join(root, name) : undefined;
  return undefined;
}

async function makesPlugin(root: string): Promise<boolean> {
  for await (const source of sourcesAt(root)) if (source.includes('nekro_agent') && source.includes('NekroPlugin')) return true;
  return false;
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
  return withBrought(own, [...NEEDED, ...(await importedOf(root, BROUGHT))]);
}
