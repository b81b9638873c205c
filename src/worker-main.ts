import { exitCodeOf } from './cli/output/exit-code-of.ts';
import { loadConfig } from './platform/config.ts';
import { isFailure } from './contracts/errors.ts';
import { importRunWorker } from './worker/import-run-worker.ts';
import { createLogger } from './platform/log.ts';

try {
  const config = loadConfig();
  const runWorker = await importRunWorker();
  await runWorker(config, createLogger(config));
} catch (error) {
  const text = isFailure(error) ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = exitCodeOf(error);
}
