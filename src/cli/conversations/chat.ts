import { Command } from 'commander';
import type { Chat, Longshore } from '../../client.ts';
import { failure } from '../../contracts/errors.ts';
import { runChatSession } from './chat-session.ts';
import { printFact, withClient, type Cli } from '../output/cli.ts';

interface ChatOptions {
  conversation?: string;
  user: string;
  attach: string[];
}

export function chatCommand(cli: Cli): Command {
  return new Command('chat')
    .description(
      'Talk to an agent: shows its text and tool calls as they arrive, and asks for approvals. Ctrl-C pauses the conversation; Ctrl-D leaves it open',
    )
    .argument('[agent]', 'agent; may be left out when there is one only')
    .option('--conversation <id>', 'go on with this conversation')
    .option('--user <id>', 'who is talking', 'cli')
    .option('--attach <file>', 'image or file that belongs to the first message; may be repeated', (file: string, others: string[]) => [...others, file], [])
    .action((agent: string | undefined, options: ChatOptions) =>
      withClient(cli, async (longshore) => {
        await using chat = await openChat(cli, longshore, agent, options);
        cli.exitCode = await runChatSession(cli, chat, options.attach);
        printFact(cli, `Go on later with: longshore chat --conversation ${chat.id}`);
      }),
    );
}

async function openChat(cli: Cli, longshore: Longshore, agent: string | undefined, { conversation, user }: ChatOptions): Promise<Chat> {
  if (conversation !== undefined) return longshore.chat(conversation);
  return longshore.start({ agent: agent ?? (await onlyAgent(cli)), user });
}

async function onlyAgent(cli: Cli): Promise<string> {
  const { LONGSHORE_AGENTS, LONGSHORE_TEMPLATES } = cli.config();
  const { loadAgents } = await import('../../definitions/agents/load-agents.ts');
  const known = [...(await loadAgents(LONGSHORE_AGENTS, LONGSHORE_TEMPLATES, 'leave')).keys()];
  const [only] = known;
  if (only !== undefined && known.length === 1) return only;
  const problem = known.length === 0 ? `there is none in ${LONGSHORE_AGENTS}` : `there are several: ${known.join(', ')}`;
  throw failure('INVALID_ARGUMENT', { what: 'agent', problem, fix: 'Name one: longshore chat <agent>' });
}
