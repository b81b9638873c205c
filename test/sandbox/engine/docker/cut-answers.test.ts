import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { PluginContainers } from '../../../../src/sandbox/engine/docker/plugin-containers.ts';

let directory: string;
let server: Server;
let address: string;
let answer: (response: ServerResponse, request: IncomingMessage) => void;
const upgraded: Duplex[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-cut-'));
  const socket = join(directory, 'engine.sock');
  server = createServer((request, response) => answer(response, request)).listen(socket);
  server.on('upgrade', (_request, stream) => {
    upgraded.push(stream.on('error', () => undefined));
    stream.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
  });
  await once(server, 'listening');
  address = `unix://${socket}`;
});
afterAll(async () => {
  for (const stream of upgraded) stream.destroy();
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

const json = (response: ServerResponse, status: number, value: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const CALLS: [string, (engine: Engine) => Promise<unknown>][] = [
  ['an inspection', (asked) => asked.inspect('some')],
  ['a list', (asked) => asked.containersOf('some')],
  ['a start', (asked) => asked.start('some')],
];

test.each(CALLS)('%s whose answer is cut in the middle fails, and is not waited for any more', async (_name, call) => {
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"Id":"so', () => response.destroy());
  await expect(call(createEngine(address))).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE', retryable: true });
});

test('an engine that is gone while it starts a container of a plugin is one error, of the start', async () => {
  let waiting: ServerResponse | undefined;
  let refused = 0;
  answer = (response, { method, url = '' }) => {
    if (method === 'DELETE') response.writeHead(204).end();
    else if (url.includes('/wait')) (waiting = response.writeHead(200)).flushHeaders();
    else if (url.includes('/start')) {
      refused += 1;
      waiting?.destroy();
      response.destroy();
    } else json(response, url.includes('/create') ? 201 : 200, { Id: 'some' });
  };
  const containers = new PluginContainers(address);
  const spec = { files: ['/etc/hostname'], command: ['true'], user: 1000, memoryBytes: 64_000_000, processes: 10 };
  await expect(containers.start(spec)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(refused).toBe(1);
  // What is not handled is found by now.
  await new Promise(setImmediate);
});
