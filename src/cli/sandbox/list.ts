import { Command, Option } from 'commander';
import { shortTime } from '../../common/short-time.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { SandboxRow, SandboxState } from '../../store/sandbox-rows.ts';
import { printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withSandboxes } from './with-sandboxes.ts';

export const STATES: SandboxState[] = ['creating', 'warm', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'];

interface ListOptions {
  state?: SandboxState[];
  label: Record<string, string>;
  conversation?: string;
  tenant?: string;
  template?: string;
  host?: string;
  json?: boolean;
}

export function listSandboxes(cli: Cli): Command {
  return new Command('ls')
    .description('List sandboxes of all hosts, the oldest first; destroyed ones only with --state destroyed')
    .addOption(new Option('--state <states...>', 'only in these states').choices(STATES))
    .option('--label <name=value>', 'only with this label of their template; may be repeated', withLabel, {})
    .option('--conversation <id>')
    .option('--tenant <id>')
    .option('--template <name>')
    .option('--host <id>')
    .option('--json', 'as JSON')
    .action((options: ListOptions) =>
      withSandboxes(cli, async ({ store }) => {
        const states = options.state ?? STATES.filter((state) => state !== 'destroyed');
        const rows = (await store.sandboxes.list({ states, ...(options.host !== undefined && { hostId: options.host }) })).filter(isWanted(options));
        if (options.json) printJson(cli, rows);
        else if (rows.length === 0) printLine(cli, 'No sandboxes.');
        else printRows(cli, rows);
      }),
    );
}

function withLabel(text: string, before: Record<string, string>): Record<string, string> {
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw failure('INVALID_ARGUMENT', { what: '--label', problem: `"${text}" is no label`, fix: 'Write name=value' });
  return { ...before, [name]: value };
}

function isWanted({ label, conversation, tenant, template }: ListOptions): (row: SandboxRow) => boolean {
  return ({ conversationId, tenantId, options }) => {
    const { labels = {}, template: own } = options as SandboxOptions;
    if (conversation !== undefined && conversation !== conversationId) return false;
    if (tenant !== undefined && tenant !== tenantId) return false;
    if (template !== undefined && template !== own) return false;
    return Object.entries(label).every(([name, value]) => labels[name] === value);
  };
}

function printRows(cli: Cli, rows: SandboxRow[]): void {
  const lines = rows.map(({ sandboxId, state, conversationId, hostId, options, lastUsedAt }) => [
    sandboxId,
    state,
    conversationId ?? '-',
    (options as SandboxOptions).template ?? '-',
    hostId,
    shortTime(lastUsedAt),
  ]);
  printTable(cli, ['SANDBOX', 'STATE', 'CONVERSATION', 'TEMPLATE', 'HOST', 'USED'], lines);
}
