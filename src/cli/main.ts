import { loadConfig } from '../platform/config.ts';
import { systemProblem } from '../platform/system-problem.ts';
import { EXIT } from './output/cli.ts';
import { runCli } from './run-cli.ts';
import { createOutput } from './output/terminal.ts';

const readerGone = new Set<() => void>();

/** A pipe that no process reads any more, or a terminal that was closed. */
function isGone({ isTTY }: { isTTY?: boolean }, { code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || (code === 'EIO' && isTTY === true);
}

// `longshore show … | head` closes the output early; that is not an error. A command goes on without a reader, for what it does and for its exit code; one that
// only shows something ends when it hears of it.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!isGone(stream, error)) {
      if (stream === process.stdout) createOutput(process.stderr).print(`The output cannot be written: ${systemProblem(error)}\n`);
      process.exit(EXIT.failed);
    }
    for (const listener of readerGone) listener();
  });
}

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
