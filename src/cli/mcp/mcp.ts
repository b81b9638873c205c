import { Command, Option } from 'commander';
import { failure } from '../../contracts/errors.ts';
import { oneMore } from '../output/one-more.ts';
import type { Cli } from '../output/cli.ts';
import type { AddServerOptions } from './add-server.ts';

export function mcpCommand(cli: Cli): Command {
  const command = new Command('mcp').description('Add MCP servers to agents');
  command
    .command('add')
    .description('Write a server of the MCP registry into the files of agents, after showing what it runs and is given; again, to update it')
    .argument('<name>', 'its name here, which begins the ids of its tools')
    .argument('<server.json>', 'its description in the format of the registry: a file, or an address with https://')
    .option('--agent <id>', 'agent into whose file it is written; may be repeated', oneMore)
    .addOption(new Option('--where <place>', 'run its package there, and not connect to its address').choices(['sandbox', 'host']))
    .option('--set <name=value>', 'a value that it asks for; secrets are written as ${env.NAME}; may be repeated', oneValue)
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'as JSON')
    .action(async (name: string, source: string, options: AddServerOptions) => {
      const { addServer } = await import('./add-server.ts');
      await addServer(cli, name, source, options);
    });
  return command;
}

function oneValue(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw failure('INVALID_ARGUMENT', { what: '--set', problem: `"${text}" has no name or no =`, fix: 'Write --set name=value' });
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
