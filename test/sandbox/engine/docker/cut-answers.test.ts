import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';

let directory: string;
let server: Server;
let engine: Engine;
let answer: (response: ServerResponse) => void;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-cut-'));
  const socket = join(directory, 'engine.sock');
  server = createServer((_request, response) => answer(response)).listen(socket);
  await once(server, 'listening');
  engine = createEngine(`unix://${socket}`);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

const CALLS: [string, (engine: Engine) => Promise<unknown>][] = [
  ['an inspection', (asked) => asked.inspect('some')],
  ['a list', (asked) => asked.containersOf('some')],
  ['a start', (asked) => asked.start('some')],
];

test.each(CALLS)('%s whose answer is cut in the middle fails, and is not waited for any more', async (_name, call) => {
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"Id":"so', () => response.destroy());
  await expect(call(engine)).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE', retryable: true });
});
