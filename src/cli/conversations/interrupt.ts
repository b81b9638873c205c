import { Command } from 'commander';
import { printFact, withClient, type Cli } from '../output/cli.ts';

interface InterruptOptions {
  afterStep?: boolean;
  dropQueue?: boolean;
}

export function interruptCommand(cli: Cli): Command {
  return new Command('interrupt')
    .description('End the running turn and kill its command; waiting messages are answered next')
    .argument('<id>', 'conversation')
    .option('--after-step', 'end the turn after the running step, without killing a command')
    .option('--drop-queue', 'also drop the waiting messages')
    .action((id: string, { afterStep, dropQueue }: InterruptOptions) =>
      withClient(cli, async (longshore) => {
        if (dropQueue) await longshore.cancel(id);
        else if (afterStep) await longshore.stopAfterStep(id);
        else await longshore.interrupt(id);
        printFact(cli, `${id} is asked to end its turn.`);
      }),
    );
}
