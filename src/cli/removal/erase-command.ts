import { Command } from 'commander';
import type { Cli } from '../output/cli.ts';
import { withSandboxes } from '../sandbox/with-sandboxes.ts';

interface EraseOptions {
  tenant: string;
  user: string;
  yes?: boolean;
}

export function eraseCommand(cli: Cli): Command {
  return new Command('erase')
    .description("Remove a user's data for good: conversations, sandboxes with their snapshots, schedules, values of plugins, memory, histories in Temporal")
    .requiredOption('--tenant <id>', 'the tenant of the user')
    .requiredOption('--user <id>')
    .option('--yes', 'do not ask for confirmation')
    .action(async ({ tenant: tenantId, user: userId, yes = false }: EraseOptions) => {
      const { erase } = await import('./erase.ts');
      await withSandboxes(cli, (desk) => erase(cli, desk, { tenantId, userId }, yes));
    });
}
