import { Command } from 'commander';
import type { AuditEntry, AuditQuery } from '../../client.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { printError, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { atLeastOne } from '../output/whole-number.ts';

export function auditCommand(cli: Cli): Command {
  return new Command('audit')
    .description('Show who changed what, newest first: approvals, closed conversations, keys, plugins')
    .option('--actor <id>', 'only what this key, user or conversation did')
    .option('--action <action>', 'only this, such as approval.answer or key.create')
    .option('--target <id>', 'only changes of this call, conversation, key or plugin')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--since <time>', 'only those of this time or later, such as 24h or 2027-01-31T09:00:00Z')
    .option('--limit <number>', 'show at most this many', atLeastOne, 50)
    .option('--cursor <cursor>', 'the page after the one that said this')
    .option('--json', 'as JSON')
    .action(({ json, ...query }: AuditQuery & { json?: boolean }) =>
      withClient(
        cli,
        async (longshore) => {
          const page = await longshore.audit.list(query);
          if (json) return printJson(cli, page);
          if (page.entries.length === 0) return printLine(cli, 'Nothing.');
          printTable(cli, ['TIME', 'ACTOR', 'TENANT', 'ACTION', 'TARGET', 'DETAILS'], page.entries.map(rowOf));
          if (page.next !== undefined) printError(cli, visibleLine(`Older ones: add --cursor ${page.next}`));
        },
        { lazy: true },
      ),
    );
}

function rowOf({ at, actor, tenantId, action, target, details }: AuditEntry): string[] {
  const facts = Object.keys(details).length === 0 ? '' : JSON.stringify(details);
  return [at.slice(0, 19).replace('T', ' '), `${actor.kind} ${actor.id}`, tenantId ?? '-', action, target, facts];
}
