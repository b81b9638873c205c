import { Command, Option } from 'commander';
import type { Chat } from '../../client.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { FORK_FILES, type ForkFiles } from '../../contracts/forks/fork.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { EXIT, printError, printFact, printJsonLine, printLine, withClient, type Cli } from '../output/cli.ts';

interface Given {
  at?: string;
  files?: ForkFiles;
  message?: string;
  id?: string;
  json?: boolean;
}

export function forkCommand(cli: Cli): Command {
  return new Command('fork')
    .description('Begin another conversation with what this one has said and done up to a place, and with its files of that moment')
    .argument('<id>', 'conversation')
    .option('--at <place>', 'id of a turn, a step or a checkpoint; default: the end of the newest finished step')
    .addOption(new Option('--files <which>', 'those of that moment, those of now, or a new sandbox').choices(FORK_FILES).default('exact'))
    .option('--message <text>', 'first message for the fork')
    .option('--id <conversation>', 'id of the fork; repeating the command with the same id makes no second one')
    .option('--json', 'as JSON')
    .action((source: string, { at, files, message, id, json = false }: Given) =>
      withClient(cli, async (longshore) => {
        const chat = await longshore.fork(source, withoutUndefined({ at, files, message, conversationId: id }));
        const problem = await filesOf(cli, chat);
        if (problem === undefined) {
          if (json) printJsonLine(cli, { conversationId: chat.id });
          else printLine(cli, chat.id);
          if (message === undefined && !json) printFact(cli, `Say something to it with: longshore chat --conversation ${chat.id}`);
          return;
        }
        printError(cli, problem === 'interrupted' ? `${chat.id} gets its files in the background; see: longshore show ${chat.id}` : visibleLine(problem));
        cli.exitCode = problem === 'interrupted' ? EXIT.interrupted : EXIT.failed;
      }),
    );
}

/** Waits until the fork has its files; why it has none, otherwise. */
async function filesOf(cli: Cli, chat: Chat): Promise<string | undefined> {
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => interrupted.abort());
  try {
    for await (const { type, data } of chat.events({ signal: interrupted.signal })) {
      if (type === 'fork.ready') return undefined;
      if (type === 'fork.failed') return data.problem;
    }
  } finally {
    release();
  }
  return interrupted.signal.aborted ? 'interrupted' : `${chat.id} was closed before it had its files`;
}
