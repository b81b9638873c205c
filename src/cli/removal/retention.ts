import { Command, InvalidArgumentError } from 'commander';
import { id, read } from '../../common/arguments.ts';
import { duration } from '../../common/duration.ts';
import { loginName } from '../../platform/login-name.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';
import { durationText } from '../schedule/duration-text.ts';

const KEEP = 'keep';

export function retentionCommand(cli: Cli): Command {
  return new Command('retention')
    .description("How long closed conversations of a tenant are kept, where it differs from the workers' LONGSHORE_RETENTION")
    .addCommand(listCommand(cli))
    .addCommand(setCommand(cli))
    .addCommand(unsetCommand(cli));
}

function listCommand(cli: Cli): Command {
  return new Command('ls')
    .description('List the tenants that have a retention of their own')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(cli, async ({ removal }) => {
        const rows = await removal.retentions();
        if (json) return printJson(cli, rows);
        if (rows.length === 0) return printLine(cli, 'None.');
        const texts = rows.map(({ tenantId, keepMs }) => [tenantId, keepMs === null ? 'for ever' : durationText(keepMs)]);
        return printTable(cli, ['TENANT', 'KEPT'], texts);
      }),
    );
}

function setCommand(cli: Cli): Command {
  return new Command('set')
    .description('Keep the closed conversations of a tenant for a time; older ones are removed by the workers within minutes')
    .argument('<tenant>')
    .argument('<duration>', `such as 30d; "${KEEP}": for ever`, durationOrKeep)
    .action((tenant: string, keepMs: number | typeof KEEP) => change(cli, read('tenant', id, tenant), keepMs === KEEP ? null : keepMs));
}

function unsetCommand(cli: Cli): Command {
  return new Command('unset')
    .description("Give a tenant the workers' retention again")
    .argument('<tenant>')
    .action((tenant: string) => change(cli, tenant, undefined));
}

function change(cli: Cli, tenant: string, keepMs: number | null | undefined): Promise<void> {
  return withStore(cli, async ({ audit, removal }) => {
    const actor = { kind: 'login' as const, id: loginName() ?? 'unknown' };
    await audit.add({ actor, action: 'retention.set', target: tenant, tenantId: tenant, details: keepMs === undefined ? {} : { keepMs } });
    await removal.setRetention(tenant, keepMs);
    const kept = keepMs === undefined ? 'as LONGSHORE_RETENTION of the workers says' : keepMs === null ? 'for ever' : `for ${durationText(keepMs)}`;
    printFact(cli, `Closed conversations of ${tenant} are kept ${kept}.`);
  });
}

function durationOrKeep(text: string): number | typeof KEEP {
  if (text === KEEP) return KEEP;
  const milliseconds = duration.safeParse(text).data ?? 0;
  if (milliseconds === 0) throw new InvalidArgumentError(`Give a duration such as 30d, or "${KEEP}".`);
  return milliseconds;
}
