import { Command } from 'commander';
import { createTemporalLink } from '../client/temporal.ts';
import { registerSearchAttributes } from '../dev/search-attributes.ts';
import { migrate } from '../store/migrate.ts';
import { printLine, type Cli } from './cli.ts';

export function setupCommand(cli: Cli): Command {
  return new Command('setup')
    .description('Prepare the servers of an installation: the Postgres schema and the search attributes of Temporal. Safe to repeat')
    .action(async () => {
      const config = cli.config();
      await migrate(config.DATABASE_URL);
      printLine(cli, 'Postgres: the schema is up to date.');
      const temporal = createTemporalLink({ address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE });
      try {
        const added = await registerSearchAttributes(await temporal.connection(), config.TEMPORAL_NAMESPACE);
        printLine(cli, `Temporal: search attributes ${added.length > 0 ? `registered: ${added.join(', ')}` : 'are there'}.`);
      } finally {
        await temporal.close();
      }
    });
}
