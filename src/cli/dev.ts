import { Command } from 'commander';
import { loadAgents } from '../agents/load-agents.ts';
import { printLine, type Cli } from './cli.ts';

export function devCommand(cli: Cli): Command {
  return new Command('dev')
    .description(
      'Run the whole stack on this machine: Temporal with its UI, Postgres, sandboxes, a worker. Plugins that change are loaded again. Ctrl-C ends it; conversations are found again',
    )
    .action(async () => {
      const config = cli.config();
      const agents = await loadAgents(config.LONGSHORE_AGENTS, config.LONGSHORE_TEMPLATES);
      const log = (line: string) => printLine(cli, line);
      const { startDevStack } = await import('../dev/dev-stack.ts');
      const { startDevWorker } = await import('../dev/dev-worker.ts');
      await using stack = await startDevStack(config, log);
      printLine(cli, `Temporal    ${stack.config.TEMPORAL_ADDRESS}`);
      if (stack.uiUrl !== undefined) printLine(cli, `Temporal UI ${stack.uiUrl}`);
      printLine(cli, `Agents      ${[...agents.keys()].join(', ') || 'none'} (${config.LONGSHORE_AGENTS})`);
      printLine(cli, 'Talk to one in another terminal: longshore chat. Ctrl-C ends everything here.');
      const worker = startDevWorker({ ...stack.config, LONGSHORE_WATCH: 'yes' }, log);
      const release = cli.onInterrupt(() => worker.stop());
      cli.exitCode = await worker.ended;
      printLine(cli, 'Stopping the servers.');
      release();
    });
}
