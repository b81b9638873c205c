import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { failure } from '../../contracts/errors.ts';
import { BUILTIN_IDS } from '../../plugins/builtin/builtin-plugins.ts';
import type { NewPlugin, PluginDialect } from '../../plugins/dialects/shared/plugin-dialect.ts';
import { printFact, type Cli } from '../output/cli.ts';

const IN_CHECKOUT = import.meta.url.endsWith('.ts');
const ID = /^[a-z][a-z0-9-]{0,39}$/;

/** Writes a plugin with its test. Never overwrites a file. */
export async function newPlugin(cli: Cli, { scaffold }: PluginDialect, id: string, parent: string): Promise<void> {
  if (!ID.test(id)) {
    const problem = `"${id}" is not usable`;
    throw failure('INVALID_ARGUMENT', { what: 'name', problem, fix: 'Use a lower-case letter, then letters, digits and -, 40 at most' });
  }
  if (BUILTIN_IDS.includes(id))
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: `"${id}" is the id of a built-in plugin`, fix: 'Take another name' });
  const { LONGSHORE_AGENTS: agents } = cli.config();
  const directory = join(parent, id);
  if ((await namesIn(directory)).length > 0) {
    throw failure('INVALID_ARGUMENT', { what: 'name', problem: `${directory} is not empty`, fix: 'Take another name or --directory' });
  }
  const files = Object.entries(scaffold.files(id));
  try {
    await mkdir(directory, { recursive: true });
    for (const [name, text] of files) await writeFile(join(directory, name), text);
  } catch (error) {
    throw failure('INVALID_ARGUMENT', { what: '--directory', problem: (error as Error).message, fix: 'Name a directory that you may write to' }, error);
  }
  printFact(cli, `Wrote ${files.map(([name]) => join(directory, name)).join(', ')}.`);
  const made: NewPlugin = {
    id,
    directory,
    // The test is named by its path, since newer versions of Node do not accept a directory here.
    test: join(directory, files.map(([name]) => name).find((name) => name.includes('.test.')) ?? ''),
    fromAgents: asPath(relative(agents, directory)),
  };
  for (const line of scaffold.nextSteps?.(made) ?? nextSteps(made)) printFact(cli, line);
}

function nextSteps({ id, directory, test, fromAgents }: NewPlugin): string[] {
  return [
    `Look at it:  ${IN_CHECKOUT ? 'npm run longshore --' : 'longshore'} plugins check ${directory}`,
    // A checkout has no built package that the test could import; tsx finds the source instead.
    `Test it:     node ${IN_CHECKOUT ? '--import tsx ' : ''}--test ${test}`,
    `Use it:      in the file of an agent: plugins: [${fromAgents}]`,
    `                                      tools: ['${id}:*']`,
  ];
}

/** The path as agents write it: a name that begins with neither ./ nor ../ is a package there. */
function asPath(path: string): string {
  const written = path.split(sep).join('/');
  return /^\.{0,2}\//.test(written) ? written : `./${written}`;
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
