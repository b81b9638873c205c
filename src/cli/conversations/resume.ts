import { Command, InvalidArgumentError } from 'commander';
import { duration } from '../../common/duration.ts';
import { printFact, withClient, type Cli } from '../output/cli.ts';
import { wholeNumber } from '../output/whole-number.ts';

interface ResumeOptions {
  extraTurns?: number;
  extraTokens?: number;
  extraTime?: number;
  extraStorage?: number;
  extraCost?: number;
}

export function resumeCommand(cli: Cli): Command {
  return new Command('resume')
    .description('Let a paused conversation go on, with more budget if that was why it paused')
    .argument('<id>', 'conversation')
    .option('--extra-turns <number>', 'turns on top of the budget', wholeNumber)
    .option('--extra-tokens <number>', 'tokens on top of the budget', wholeNumber)
    .option('--extra-storage <MB>', 'room in the database on top of the budget, in MB', wholeNumber)
    .option('--extra-cost <USD>', 'US dollars for model calls on top of the budget, such as 2.50', dollars)
    .option('--extra-time <duration>', 'working time on top of the budget, such as 30m', milliseconds)
    .action((id: string, { extraTurns, extraTokens, extraTime, extraStorage, extraCost }: ResumeOptions) =>
      withClient(cli, async (longshore) => {
        await longshore.resume(id, {
          ...(extraTurns !== undefined && { extraTurns }),
          ...(extraTokens !== undefined && { extraTokens }),
          ...(extraTime !== undefined && { extraWallTimeMs: extraTime }),
          ...(extraStorage !== undefined && { extraStorageMb: extraStorage }),
          ...(extraCost !== undefined && { extraCostUsd: extraCost }),
        });
        printFact(cli, `${id} is asked to go on.`);
      }),
    );
}

function dollars(text: string): number {
  const amount = Number(text);
  if (text.trim() === '' || !Number.isFinite(amount) || amount < 0) throw new InvalidArgumentError('Write an amount such as 5 or 2.50.');
  return amount;
}

function milliseconds(text: string): number {
  const parsed = duration.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('Write 30s, 10m or 2h.');
  return parsed.data;
}
