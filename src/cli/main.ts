import { connect } from '../client.ts';
import { loadConfig } from '../config.ts';
import { runCli } from './run-cli.ts';

// `longshore show … | head` closes our output early; that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCli(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  in: process.stdin,
  config: () => loadConfig(),
  connect,
  onInterrupt(listener) {
    process.on('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
  exitCode: 0,
});
