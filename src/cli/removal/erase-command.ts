import { Command } from 'commander';
import { name, read } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { Cli } from '../output/cli.ts';
import { withSandboxes } from '../sandbox/with-sandboxes.ts';

interface EraseOptions {
  tenant: string;
  user?: string;
  pluginFiles?: boolean;
  yes?: boolean;
}

export function eraseCommand(cli: Cli): Command {
  return new Command('erase')
    .description("Remove a user's data for good: conversations, sandboxes with their snapshots, schedules, values of plugins, memory, histories in Temporal")
    .requiredOption('--tenant <id>', 'the tenant of the user')
    .option('--user <id>')
    .option('--plugin-files', 'remove the files that plugins in Python keep for the tenant, those of all of its users')
    .option('--yes', 'do not ask for confirmation')
    .action(async ({ tenant: tenantId, user: userId, pluginFiles = false, yes = false }: EraseOptions) => {
      if ((userId === undefined) !== pluginFiles) throw oneOfBoth();
      read('--tenant', name, tenantId);
      read('--user', name.optional(), userId);
      await withSandboxes(cli, async (desk) => {
        if (userId !== undefined) return (await import('./erase.ts')).erase(cli, desk, { tenantId, userId }, yes);
        return (await import('./erase-plugin-files.ts')).erasePluginFiles(cli, desk, tenantId, yes);
      });
    });
}

function oneOfBoth(): Error {
  return failure('INVALID_ARGUMENT', { what: 'erase', problem: 'it has to be said what', fix: 'Give either --user or --plugin-files' });
}
