import { Command, Option } from 'commander';
import type { UsageOptions } from '../../client.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageLine, type UsageReport, type UsageTotals } from '../../contracts/usage.ts';
import { printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { costText } from '../output/cost-text.ts';
import { printTable } from '../output/table.ts';
import { atLeastOne } from '../output/whole-number.ts';

interface Options {
  from?: string;
  to?: string;
  by: UsageGroup;
  agent?: string;
  user?: string;
  tenant?: string;
  conversation?: string;
  limit: number;
  json?: boolean;
}

export function usageCommand(cli: Cli): Command {
  return new Command('usage')
    .description('Show the tokens and the cost of model calls')
    .addOption(new Option('--by <group>', 'one line for each').choices(USAGE_GROUPS).default('day'))
    .option('--from <time>', 'such as 2027-01-01 (default: 30 days before the end)')
    .option('--to <time>', 'the first moment that does not count, such as 2027-02-01 (default: now)')
    .option('--agent <id>')
    .option('--user <id>')
    .option('--tenant <id>')
    .option('--conversation <id>')
    .option('--limit <number>', 'show at most this many lines', atLeastOne, 100)
    .option('--json', 'as JSON')
    .action(({ json = false, by, ...filter }: Options) =>
      withClient(
        cli,
        async (longshore) => {
          const report = await longshore.usage({ ...filter, group: by } satisfies UsageOptions);
          if (json) printJson(cli, report);
          else printReport(cli, report);
        },
        { lazy: true },
      ),
    );
}

function printReport(cli: Cli, { from, to, group, lines, more, total }: UsageReport): void {
  if (total.calls === 0) return printLine(cli, `No model calls from ${minute(from)} to ${minute(to)}.`);
  const withTenant = lines.some(({ tenantId }) => tenantId !== undefined);
  const head = [group.toUpperCase(), ...(withTenant ? ['TENANT'] : []), 'CALLS', 'INPUT', 'FROM CACHE', 'OUTPUT', 'COST'];
  const rowOf = (line: UsageTotals & Partial<UsageLine>, key: string) => [key, ...(withTenant ? [line.tenantId ?? ''] : []), ...figures(line)];
  printTable(cli, head, [...lines.map((line) => rowOf(line, line.key || '-')), rowOf(total, 'total')]);
  if (more) printFact(cli, `There are more lines: give a larger --limit. The total is of all of them.`);
  if (total.unpricedCalls > 0) printFact(cli, 'Models without a price: name them in the file of LONGSHORE_PRICES. Calls that were made keep an unknown cost.');
}

function figures({ inputTokens, cacheReadTokens, outputTokens, ...rest }: UsageTotals): string[] {
  return [rest.calls, inputTokens, cacheReadTokens, outputTokens].map(String).concat(costText(rest));
}

function minute(at: string): string {
  return at.slice(0, 16).replace('T', ' ');
}
