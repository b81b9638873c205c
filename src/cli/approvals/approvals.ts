import { Command } from 'commander';
import type { Cli } from '../output/cli.ts';
import { atLeastOne } from '../output/whole-number.ts';
import type { InboxOptions } from './inbox.ts';
import type { ReplayOptions } from './replay.ts';

export function approvalsCommand(cli: Cli): Command {
  const command = new Command('approvals').description('Calls that wait for a person, and past decisions');
  command
    .command('ls')
    .description('List the calls that wait for a person in all conversations, oldest first; answer with "longshore approve"')
    .option('--agent <id>')
    .option('--user <id>')
    .option('--tenant <id>')
    .option('--tool <pattern>', 'such as shell:run or files:*')
    .option('--limit <number>', 'show at most this many', atLeastOne, 50)
    .option('--json', 'as JSON')
    .action(async (options: InboxOptions) => {
      const { listApprovals } = await import('./inbox.ts');
      await listApprovals(cli, options);
    });
  command
    .command('remembered')
    .description('List the tools that people have allowed for the rest of a conversation, in all that are not closed')
    .argument('[conversation]', 'only of this one')
    .option('--json', 'as JSON')
    .action(async (conversation: string | undefined, { json = false }: { json?: boolean }) => {
      const { listRemembered } = await import('./remembered.ts');
      await listRemembered(cli, conversation, json);
    });
  command
    .command('revoke')
    .description('Take back that a tool is allowed for the rest of a conversation: its next calls ask again')
    .argument('<conversation>')
    .argument('<tool>', 'such as shell:run')
    .option('--by <name>', 'who revokes; shown in the events')
    .action(async (conversation: string, tool: string, options: { by?: string }) => {
      const { revokeRemembered } = await import('./remembered.ts');
      await revokeRemembered(cli, conversation, tool, options);
    });
  command
    .command('replay')
    .description("Compare what the rules of an agent's file say, and its judge, with what people have decided")
    .argument('<agent>', 'agent')
    .option('--judge', 'ask the judge about the calls of which a rule says auto; its model is called and paid for')
    .option('--limit <number>', 'look at this many decisions, the newest', atLeastOne, 50)
    .option('--json', 'as JSON')
    .action(async (agent: string, options: ReplayOptions) => {
      const { replayDecisions } = await import('./replay.ts');
      await replayDecisions(cli, agent, options);
    });
  return command;
}
