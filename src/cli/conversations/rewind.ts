import { Command } from 'commander';
import { isFailure } from '../../contracts/errors.ts';
import type { Longshore } from '../../client/types.ts';
import type { RewindResult } from '../../contracts/checkpoints/checkpoint.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printError, printFact, printLine, withClient, type Cli } from '../output/cli.ts';

export function rewindCommand(cli: Cli): Command {
  return new Command('rewind')
    .description('Make files and transcript of a conversation as they were at a checkpoint; "longshore checkpoints" lists them')
    .argument('<id>', 'conversation')
    .argument('<checkpoint>', 'where to go back to')
    .option('--yes', 'even when something since then reached beyond the sandbox, which is not undone')
    .action((id: string, checkpointId: string, { yes = false }: { yes?: boolean }) =>
      withClient(cli, async (longshore) => {
        const rewound = await rewindConfirmed(cli, longshore, { id, checkpointId, yes });
        if (!rewound) {
          printLine(cli, 'Nothing was changed.');
          cli.exitCode = EXIT.failed;
          return;
        }
        const { written, removed, failed, before } = rewound;
        printFact(cli, `${id} is as it was at ${checkpointId}: ${written} written, ${removed} removed. Take it back with: longshore rewind ${id} ${before}`);
        if (failed > 0) printError(cli, `${failed} could not be restored.`);
      }),
    );
}

async function rewindConfirmed(
  cli: Cli,
  longshore: Longshore,
  { id, checkpointId, yes }: { id: string; checkpointId: string; yes: boolean },
): Promise<RewindResult | undefined> {
  try {
    return await longshore.rewind(id, checkpointId);
  } catch (error) {
    if (!isFailure(error, 'REWIND_UNCONFIRMED')) throw error;
    printLine(cli, `This is not undone: ${visibleLine(String(error.values['effects']))}.`);
    if (!yes && !(await confirmed(cli, 'rewind', 'Go back all the same?'))) return undefined;
    return longshore.rewind(id, checkpointId, { confirm: String(error.values['confirm']) });
  }
}
