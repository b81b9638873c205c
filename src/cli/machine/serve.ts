import { Command, InvalidArgumentError } from 'commander';
import { createLogger } from '../../platform/log.ts';
import { printFact, type Cli } from '../output/cli.ts';
import { isHostAndPort } from '../../common/host-and-port.ts';
import { ownVersion } from '../../platform/own-version.ts';

export function serveCommand(cli: Cli): Command {
  return new Command('serve')
    .description('Serve the HTTP API until it is told to stop (SIGTERM, Ctrl-C). It keeps no state: run as many as you like')
    .option('--address <host:port>', 'where to listen (default: LONGSHORE_API_ADDRESS, or 127.0.0.1:8280)', hostAndPort)
    .action(async ({ address }: { address?: string }) => {
      const config = cli.config();
      if (address !== undefined) config.LONGSHORE_API_ADDRESS = address;
      const { serveApi } = await import('../../api/serve-api.ts');
      const leaving = new AbortController();
      const release = cli.onInterrupt(() => leaving.abort());
      try {
        const onReady = (url: string) => printFact(cli, `Serving ${url}. Its description: ${url}/openapi.json. A key: longshore keys create <name>`);
        await serveApi(config, { log: createLogger(config), version: ownVersion(), signal: leaving.signal, onReady });
      } finally {
        release();
      }
    });
}

function hostAndPort(text: string): string {
  if (!isHostAndPort(text)) throw new InvalidArgumentError('Give host:port, such as 127.0.0.1:8280.');
  return text;
}
