import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { shellWord } from '../../common/shell-quoted.ts';
import type { DevStack } from '../../setup/dev-stack.ts';
import { serveDevApi } from './dev-api.ts';
import { devCodec } from './dev-codec.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';

export function devCommand(cli: Cli): Command {
  return new Command('dev')
    .description(
      'Run the whole stack on this machine: Temporal with its UI, Postgres, sandboxes, a worker, the HTTP API. Plugins that change are loaded again. Ctrl-C stops it; conversations continue after the next start',
    )
    .option('--temporal-port <number>', 'start Temporal on this port, and its UI on the one 1000 above (default: 7233)', portNumber)
    .option('--postgres-port <number>', 'start Postgres on this port (default: 5433)', portNumber)
    .option('--api-port <number>', 'serve the HTTP API on this port (default: 8280)', portNumber)
    .action(async (options: { temporalPort?: number; postgresPort?: number; apiPort?: number }) => {
      const config = cli.config();
      if (options.apiPort !== undefined) config.LONGSHORE_API_ADDRESS = `127.0.0.1:${options.apiPort}`;
      const { loadAgents } = await import('../../definitions/agents/load-agents.ts');
      const agents = await loadAgents(config.LONGSHORE_AGENTS, config.LONGSHORE_TEMPLATES);
      const log = (line: string) => printFact(cli, line);
      const { startDevStack } = await import('../../setup/dev-stack.ts');
      const { startDevWorker } = await import('../../setup/dev-worker.ts');
      const ports = {
        ...(options.temporalPort !== undefined && { temporal: options.temporalPort }),
        ...(options.postgresPort !== undefined && { postgres: options.postgresPort }),
      };
      const codec = await devCodec(config);
      const leaving = new AbortController();
      const release = cli.onInterrupt(() => leaving.abort());
      try {
        await using stack = await startDevStack({ config, log, ports, uiCodec: codec?.endpoint, signal: leaving.signal });
        tellStack(cli, stack, [...agents.keys()]);
        const served = serveDevApi(cli, stack, { codec, signal: leaving.signal });
        const worker = startDevWorker({ ...stack.config, LONGSHORE_WATCH: 'yes' }, log, await logReader(cli));
        const releaseWorker = cli.onInterrupt(() => worker.stop());
        // The interruption may have come before this listener was registered.
        if (leaving.signal.aborted) worker.stop();
        cli.exitCode = await worker.ended;
        releaseWorker();
        leaving.abort();
        await served;
        printLine(cli, 'Stopping the servers.');
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
        printLine(cli, 'Interrupted; what was started has ended.');
        cli.exitCode = EXIT.interrupted;
      } finally {
        release();
      }
    });
}

function tellStack(cli: Cli, { config, uiUrl }: DevStack, agents: string[]): void {
  const { TEMPORAL_ADDRESS, DATABASE_URL, LONGSHORE_AGENTS } = config;
  printFact(cli, `Temporal    ${TEMPORAL_ADDRESS}`);
  if (uiUrl !== undefined) printFact(cli, `Temporal UI ${uiUrl}`);
  printFact(cli, `Agents      ${agents.join(', ') || 'none'} (${LONGSHORE_AGENTS})`);
  const exports = Object.entries({ TEMPORAL_ADDRESS, DATABASE_URL, LONGSHORE_AGENTS: resolve(LONGSHORE_AGENTS) });
  printFact(cli, `Other terminals need: export ${exports.map(([name, value]) => `${name}=${shellWord(value)}`).join(' ')}`);
  if (config.LONGSHORE_ENCRYPTION_KEYS !== undefined) printLine(cli, 'They need the same LONGSHORE_ENCRYPTION_KEYS, too.');
  printLine(cli, 'Talk to one in another terminal: longshore chat. Ctrl-C ends everything here.');
}

/** A person gets readable lines; a pipe gets the worker's JSON unchanged. */
async function logReader(cli: Cli): Promise<((line: string) => void) | undefined> {
  if (!cli.err.isTTY) return undefined;
  const { createLogReader } = await import('../../setup/read-log.ts');
  const read = createLogReader();
  return (line) => cli.err.print(read(line));
}

/** The port of the UI is 1000 above that of Temporal and must be valid too. */
function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 64_535) throw new InvalidArgumentError('Give a port from 1 to 64535.');
  return port;
}
