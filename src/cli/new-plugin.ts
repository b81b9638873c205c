import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failure } from '../contracts/errors.ts';
import { printLine, type Cli } from './cli.ts';
import { longshorePlugin } from './plugin-templates/longshore.ts';
import { maibotPlugin } from './plugin-templates/maibot.ts';
import { mcpServer } from './plugin-templates/mcp.ts';
import { nekroPlugin } from './plugin-templates/nekro.ts';
import { pandoraPlugin } from './plugin-templates/pandora.ts';

/** Text of each file of a new plugin, by its path in the directory. */
export type PluginFiles = Record<string, string>;

const TEMPLATES = {
  longshore: longshorePlugin,
  pandora: pandoraPlugin,
  maibot: maibotPlugin,
  nekro: nekroPlugin,
  mcp: mcpServer,
} as const satisfies Record<string, (id: string) => PluginFiles>;

export type NewDialect = keyof typeof TEMPLATES;
export const DIALECTS = Object.keys(TEMPLATES) as NewDialect[];

const ID = /^[a-z][a-z0-9-]{0,39}$/;

/** Writes a plugin with its test. Never writes over anything. */
export async function newPlugin(cli: Cli, dialect: NewDialect, id: string, parent: string): Promise<void> {
  if (!ID.test(id)) {
    const problem = `"${id}" is not usable`;
    throw failure('INVALID_ARGUMENT', { what: 'name', problem, fix: 'Use a lower-case letter, then letters, digits and -, 40 at most' });
  }
  const directory = join(parent, id);
  if ((await namesIn(directory)).length > 0) {
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: `there is something in ${directory} already`, fix: 'Take another name or --directory' });
  }
  await mkdir(directory, { recursive: true });
  const files = Object.entries(TEMPLATES[dialect](id));
  for (const [name, text] of files) await writeFile(join(directory, name), text);
  printLine(cli, `Wrote ${files.map(([name]) => join(directory, name)).join(', ')}.`);
  for (const line of dialect === 'mcp' ? serverHints(id, directory) : pluginHints(id, directory)) printLine(cli, line);
}

function pluginHints(id: string, directory: string): string[] {
  return [
    `Look at it:  longshore plugins check ${directory}`,
    `Test it:     node --test ${directory}`,
    `Use it:      name ${directory} under "plugins" of an agent, as a path from the agent's file, and "${id}:*" under "tools"`,
  ];
}

function serverHints(id: string, directory: string): string[] {
  const server = `${id}: { command: node, args: [server.mjs], directory: ${directory}, where: host }`;
  return [
    `Install it:  npm install --prefix ${directory}`,
    `Test it:     node --test ${directory}`,
    `Use it:      write "${server}" under "mcp" of an agent, with the directory as a path from the agent's file, and "${id}:*" under "tools"`,
    `Allow it:    LONGSHORE_HOST_PLUGINS=mcp:${id} for the worker`,
  ];
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
