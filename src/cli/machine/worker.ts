import { Command } from 'commander';
import { importRunWorker } from '../../worker/import-run-worker.ts';
import { createLogger } from '../../platform/log.ts';
import type { Cli } from '../output/cli.ts';

export function workerCommand(cli: Cli): Command {
  return new Command('worker')
    .description('Run a worker until it is told to stop (SIGTERM, Ctrl-C); running commands go on in their sandboxes')
    .option('--watch', 'load a plugin again when its directory changes; for development')
    .action(async ({ watch = false }: { watch?: boolean }) => {
      const config = cli.config();
      if (watch) config.LONGSHORE_WATCH = 'yes';
      const runWorker = await importRunWorker();
      await runWorker(config, createLogger(config));
    });
}
