import { Command } from 'commander';
import { printFact, withClient, type Cli } from '../output/cli.ts';

interface CloseOptions {
  wait?: boolean;
}

export function closeCommand(cli: Cli): Command {
  return new Command('close')
    .description('End a conversation; its sandbox is destroyed or kept as its agent says')
    .argument('<id>', 'conversation')
    .option('--wait', 'until it is closed and its sandbox is gone')
    .action((id: string, { wait }: CloseOptions) =>
      withClient(cli, async (longshore) => {
        await longshore.close(id);
        if (wait) for await (const _ of longshore.events(id));
        printFact(cli, wait ? `${id} is closed.` : `${id} is asked to close.`);
      }),
    );
}
