import { Command, Option } from 'commander';
import { printFact, withClient, type Cli } from '../output/cli.ts';

export function pauseCommand(cli: Cli): Command {
  return new Command('pause')
    .description('Pause a conversation; "longshore resume" lets it go on from where it is')
    .argument('<id>', 'conversation')
    .addOption(
      new Option('--mode <mode>', 'when the running step is done, or now: the running command is frozen where it is').choices(['step', 'now']).default('step'),
    )
    .option('--note <text>', 'why; shown to everybody')
    .action((id: string, options: { mode: 'step' | 'now'; note?: string }) =>
      withClient(cli, async (longshore) => {
        await longshore.pause(id, options);
        printFact(cli, `${id} is asked to pause.`);
      }),
    );
}
