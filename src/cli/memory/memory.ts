import { Command } from 'commander';
import type { MemoryOf } from '../../client.ts';
import { withClient, type Cli } from '../output/cli.ts';
import { wholeNumber } from '../output/whole-number.ts';

const LAZY = { lazy: true };

interface Options extends MemoryOf {
  version?: number;
  json?: boolean;
}

export function memoryCommand(cli: Cli): Command {
  const command = new Command('memory').description('Read and correct the files that agents keep between conversations');
  const shared = (made: Command) =>
    made
      .option('--user <id>', 'the memory of this user')
      .option('--agent <id>', 'the memory of this agent; with neither, that of the tenant')
      .option('--tenant <id>', 'of this tenant', 'default')
      .option('--json', 'as JSON');
  shared(command.command('ls').description('List the files')).action((options: Options) => run(cli, options, ({ listFiles }) => listFiles));
  shared(command.command('show').description('Print a file').argument('<path>', 'such as notes/style.md'))
    .option('--version <number>', 'an older version', wholeNumber)
    .action((path: string, options: Options) => run(cli, options, ({ showFile }) => showFile, path));
  shared(command.command('write').description('Write a file as a new version; the text comes from stdin').argument('<path>', 'such as notes/style.md'))
    .option('--version <number>', 'the version that you have read; without it, the file must be new', wholeNumber)
    .action((path: string, options: Options) => run(cli, options, ({ writeFile }) => writeFile, path));
  shared(command.command('rm').description('Remove a file').argument('<path>', 'such as notes/style.md'))
    .option('--version <number>', 'only if it still has this version', wholeNumber)
    .action((path: string, options: Options) => run(cli, options, ({ removeFile }) => removeFile, path));
  shared(command.command('history').description('List the versions of a file that are kept').argument('<path>', 'such as notes/style.md')).action(
    (path: string, options: Options) => run(cli, options, ({ showHistory }) => showHistory, path),
  );
  return command;
}

type Actions = typeof import('./files.ts');

async function run(cli: Cli, { json = false, ...of }: Options, choose: (actions: Actions) => Actions[keyof Actions], path = ''): Promise<void> {
  const act = choose(await import('./files.ts'));
  await withClient(cli, ({ memory }) => act(cli, memory, { path, of, json }), LAZY);
}
