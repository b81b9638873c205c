import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { openWay } from '../../../scripts/chaos/faults/way.ts';
import { createTemporalLink } from '../../../src/client/temporal/temporal.ts';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';

const ATTEMPTS = 7;
/** By default the pause before the sixth attempt would be longer than 5 seconds, and before the seventh longer than 8. */
const LONGEST_PAUSE_MS = 5_000;

/** Knows no call: enough for a connection. */
async function openServer(): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer();
  server.on('stream', (stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

test('while the server is away, the pauses between attempts to reach it stay short', async () => {
  await using server = await openServer();
  const attempts: number[] = [];
  let isAway = false;
  await using way = await openWay(() => {
    if (!isAway) return { host: '127.0.0.1', port: server.port };
    attempts.push(performance.now());
    return undefined;
  });
  const link = createTemporalLink({ address: `127.0.0.1:${way.port}`, namespace: 'default', keys: readEncryptionKeys(undefined) });
  const client = await link.client();
  isAway = true;
  way.cut();
  way.heal();
  const asking = client.workflow.getHandle('conv_1').describe();
  asking.catch(() => undefined);
  while (attempts.length < ATTEMPTS) await new Promise((resolve) => setTimeout(resolve, 50));
  const pauses = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
  expect(Math.max(...pauses)).toBeLessThan(LONGEST_PAUSE_MS);
  isAway = false;
  await expect(asking).rejects.toMatchObject({ cause: { code: 12 } });
  await link.close();
}, 120_000);
