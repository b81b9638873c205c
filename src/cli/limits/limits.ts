import { Command, InvalidArgumentError } from 'commander';
import type { LimitsOf, SetLimitsOptions } from '../../client.ts';
import { printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { wholeNumber } from '../output/whole-number.ts';

export function limitsCommand(cli: Cli): Command {
  const command = new Command('limits').description('Limit what tenants and keys may use of the HTTP API');
  command
    .command('ls')
    .description('List the limits that differ from the defaults of the service (LONGSHORE_LIMITS)')
    .option('--json', 'as JSON')
    .action(({ json = false }: { json?: boolean }) =>
      withClient(cli, async (longshore) => showLimits(cli, await longshore.limits.list(), json), { lazy: true }),
    );
  command
    .command('set')
    .description('Replace the limits of a tenant or a key; without any, the defaults hold again')
    .option('--tenant <id>', 'the tenant')
    .option('--key <id>', 'or the key')
    .option('--requests-per-minute <number>', 'at all processes together', wholeNumber)
    .option('--streams <number>', 'streams and waiting requests that each key may have open at one process', wholeNumber)
    .option('--running-conversations <number>', 'conversations of the tenant in which a turn runs', wholeNumber)
    .option('--running-turns <number>', 'turns of a tenant that run at the same time; others wait in order', wholeNumber)
    .option('--tokens-per-day <number>', 'tokens of model calls in the last 24 hours', wholeNumber)
    .option('--cost-usd-per-day <amount>', 'US dollars of model calls in the last 24 hours', amount)
    .action((options: SetLimitsOptions) =>
      withClient(
        cli,
        async (longshore) => {
          await longshore.limits.set(options);
          printFact(cli, 'The limits are set. They are in force in 5 seconds.');
        },
        { lazy: true },
      ),
    );
  return command;
}

function showLimits(cli: Cli, rows: LimitsOf[], json: boolean): void {
  if (json) return printJson(cli, rows);
  if (rows.length === 0) return printLine(cli, 'None: the defaults of the service hold (LONGSHORE_LIMITS).');
  const lines = rows.map(({ tenant, key, limits, updatedAt }) => [
    tenant === undefined ? 'key' : 'tenant',
    tenant ?? key ?? '',
    Object.entries(limits)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    updatedAt.slice(0, 10),
  ]);
  printTable(cli, ['OF', 'ID', 'LIMITS', 'SET'], lines);
}

function amount(text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('Give an amount, such as 2.50.');
  return Number(text);
}
