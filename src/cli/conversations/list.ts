import { Command, Option } from 'commander';
import type { ConversationState } from '../../contracts/conversation.ts';
import type { ConversationRow } from '../../store/store.ts';
import { printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { atLeastOne } from '../output/whole-number.ts';

const STATES: ConversationState[] = ['running', 'idle', 'awaiting-approval', 'paused', 'closing', 'closed'];

interface ListOptions {
  state?: ConversationState;
  agent?: string;
  user?: string;
  tenant?: string;
  forksOf?: string;
  limit: number;
  json?: boolean;
}

export function listCommand(cli: Cli): Command {
  return new Command('ls')
    .description('List conversations, newest first')
    .addOption(new Option('--state <state>').choices(STATES))
    .option('--agent <id>')
    .option('--user <id>')
    .option('--tenant <id>')
    .option('--forks-of <conversation>', 'only forks of this one')
    .option('--limit <number>', 'show at most this many', atLeastOne, 50)
    .option('--json', 'as JSON')
    .action(({ json, forksOf, ...filter }: ListOptions) =>
      withClient(
        cli,
        async (longshore) => {
          const rows = await longshore.list({ ...filter, ...(forksOf !== undefined && { forkedFrom: forksOf }) });
          if (json) printJson(cli, rows);
          else if (rows.length === 0) printLine(cli, 'No conversations.');
          else printRows(cli, rows);
        },
        { lazy: true },
      ),
    );
}

function printRows(cli: Cli, rows: ConversationRow[]): void {
  const scheduled = rows.some(({ status }) => status.scheduledBy !== undefined);
  const forked = rows.some(({ status }) => status.forkedFrom !== undefined);
  const head = [
    'CONVERSATION',
    'AGENT',
    'USER',
    'STATE',
    'SANDBOX',
    'TURNS',
    'LAST TURN',
    'UPDATED',
    ...(scheduled ? ['SCHEDULE'] : []),
    ...(forked ? ['FORK OF'] : []),
  ];
  const lines = rows.map((row) => [
    row.conversationId,
    row.agentId,
    row.userId,
    row.status.waitsForPlace || row.status.waitsForRoom ? `${row.state}, waits` : row.state,
    row.status.sandboxTier,
    String(row.status.turnsUsed),
    row.status.lastTurn?.outcome ?? '-',
    row.updatedAt.slice(0, 19).replace('T', ' '),
    ...(scheduled ? [row.status.scheduledBy?.scheduleId ?? '-'] : []),
    ...(forked ? [row.status.forkedFrom?.conversationId ?? '-'] : []),
  ]);
  printTable(cli, head, lines);
}
