import { loadConfig } from '../platform/config.ts';
import { EXIT } from './output/cli.ts';
import { runCli } from './run-cli.ts';
import { createOutput } from './output/terminal.ts';

const readerGone = new Set<() => void>();

// `longshore show … | head` closes the output early; that is not an error. A command that has something to end hears of it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exit(EXIT.failed);
  if (readerGone.size === 0) process.exit(EXIT.done);
  for (const listener of readerGone) listener();
});

// Node would print the thrown error without escapes.
process.on('uncaughtException', (error) => {
  createOutput(process.stderr).print(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(EXIT.failed);
});

/** A closed terminal and a service manager stop the command in the same way as Ctrl-C. */
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const code = await runCli(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  in: process.stdin,
  config: () => loadConfig(),
  connect: async (options) => (await import('../client.ts')).connect(options),
  onInterrupt(listener) {
    for (const signal of STOPS) process.on(signal, listener);
    return () => STOPS.forEach((signal) => process.off(signal, listener));
  },
  onReaderGone(listener) {
    readerGone.add(listener);
    return () => void readerGone.delete(listener);
  },
  exitCode: 0,
});
// Builds and servers whose start was interrupted would keep this process alive; they end with it.
if (code === EXIT.interrupted) process.exit(code);
process.exitCode = code;
