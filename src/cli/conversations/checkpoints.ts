import { Command } from 'commander';
import { printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

export function checkpointsCommand(cli: Cli): Command {
  return new Command('checkpoints')
    .description("List the checkpoints of a conversation's sandbox, the oldest first")
    .argument('<id>', 'conversation')
    .option('--json', 'as JSON')
    .action((id: string, { json }: { json?: boolean }) =>
      withClient(
        cli,
        async (longshore) => {
          const found = await longshore.checkpoints(id);
          if (json) printJson(cli, found);
          else if (found.length === 0) printLine(cli, 'No checkpoints. An agent whose file says "checkpoints: turn" makes them.');
          else {
            const lines = found.map(({ checkpointId, turnId, at, files, changed, addedBytes }) => [
              checkpointId,
              turnId,
              at.slice(0, 19).replace('T', ' '),
              String(files),
              String(changed),
              String(addedBytes),
            ]);
            printTable(cli, ['CHECKPOINT', 'TURN', 'MADE', 'FILES', 'CHANGED', 'ADDED BYTES'], lines);
          }
        },
        { lazy: true },
      ),
    );
}
