import { Command, InvalidArgumentError } from 'commander';
import { loadAgents } from '../agents/load-agents.ts';
import { printLine, type Cli } from './cli.ts';

export function devCommand(cli: Cli): Command {
  return new Command('dev')
    .description(
      'Run the whole stack on this machine: Temporal with its UI, Postgres, sandboxes, a worker. Plugins that change are loaded again. Ctrl-C ends it; conversations are found again',
    )
    .option('--temporal-port <number>', 'start Temporal on this port, and its UI on the one 1000 above (default: 7233)', portNumber)
    .option('--postgres-port <number>', 'start Postgres on this port (default: 5433)', portNumber)
    .action(async (options: { temporalPort?: number; postgresPort?: number }) => {
      const config = cli.config();
      const agents = await loadAgents(config.LONGSHORE_AGENTS, config.LONGSHORE_TEMPLATES);
      const log = (line: string) => printLine(cli, line);
      const { startDevStack } = await import('../dev/dev-stack.ts');
      const { startDevWorker } = await import('../dev/dev-worker.ts');
      await using stack = await startDevStack(config, log, {
        ...(options.temporalPort !== undefined && { temporal: options.temporalPort }),
        ...(options.postgresPort !== undefined && { postgres: options.postgresPort }),
      });
      printLine(cli, `Temporal    ${stack.config.TEMPORAL_ADDRESS}`);
      if (stack.uiUrl !== undefined) printLine(cli, `Temporal UI ${stack.uiUrl}`);
      printLine(cli, `Agents      ${[...agents.keys()].join(', ') || 'none'} (${config.LONGSHORE_AGENTS})`);
      if (Object.keys(options).length > 0) {
        const { TEMPORAL_ADDRESS: address, DATABASE_URL: database } = stack.config;
        printLine(cli, `Other terminals need: export TEMPORAL_ADDRESS=${address} DATABASE_URL=${database}`);
      }
      printLine(cli, 'Talk to one in another terminal: longshore chat. Ctrl-C ends everything here.');
      const worker = startDevWorker({ ...stack.config, LONGSHORE_WATCH: 'yes' }, log);
      const release = cli.onInterrupt(() => worker.stop());
      cli.exitCode = await worker.ended;
      printLine(cli, 'Stopping the servers.');
      release();
    });
}

/** The UI's port, 1000 above that of Temporal, has to be one as well. */
function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 64_535) throw new InvalidArgumentError('Give a port from 1 to 64535.');
  return port;
}
