import { Command } from 'commander';
import type { Cli } from '../output/cli.ts';
import type { SetupOptions } from './setup.ts';

export function setupCommand(cli: Cli): Command {
  return new Command('setup')
    .description('Prepare the servers of an installation: the Postgres schema and the search attributes of Temporal. Safe to repeat')
    .option('--check', 'Instead: say what there is to do, and change nothing. Ends with 1 if there is something')
    .option('--move-database', 'Assign the database to the configured Temporal namespace, if the namespace that it belongs to no longer exists')
    .option('--image', 'Instead: build the standard image of sandboxes in the Docker engine of this machine, unless it exists')
    .option('--gvisor', 'Instead: build gVisor, with which sandboxes can hibernate, and register it with the Docker engine of this machine')
    .action(async ({ check, ...options }: SetupOptions & { check?: boolean }) => {
      if (check) {
        const { checkSetup } = await import('./check-setup.ts');
        return checkSetup(cli);
      }
      const { setUp } = await import('./setup.ts');
      await setUp(cli, options);
    });
}
