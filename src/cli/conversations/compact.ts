import { Command } from 'commander';
import { printFact, withClient, type Cli } from '../output/cli.ts';

export function compactCommand(cli: Cli): Command {
  return new Command('compact')
    .description("Leave all but the newest turn out of a conversation's prompts; the agent can still read it")
    .argument('<id>', 'conversation')
    .option('--undo', 'take the newest such change back')
    .action((id: string, options: { undo?: boolean }) =>
      withClient(cli, async (longshore) => {
        await longshore.compact(id, options);
        printFact(cli, options.undo ? `${id} is asked to take its newest compaction back.` : `${id} is asked to compact its context.`);
      }),
    );
}
