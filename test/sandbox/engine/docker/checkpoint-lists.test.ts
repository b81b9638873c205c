import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';

const ENDED = {
  Id: 'some',
  State: { Status: 'exited', Running: false, Paused: false, ExitCode: 0, OOMKilled: false },
  Config: { Labels: {} },
  HostConfig: { Runtime: 'runsc', NetworkMode: 'container:holder' },
  ExecIDs: null,
};

let directory: string;
let server: Server;
let engine: Engine;
/** What the engine answers when it is asked for checkpoints. */
let status = 200;
let listed: unknown = null;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-lists-'));
  const socket = join(directory, 'engine.sock');
  server = createServer(({ method, url = '' }, response) => {
    const [code, value] = url.endsWith('/checkpoints') ? [status, listed] : method === 'DELETE' ? [500, { message: 'busy' }] : [200, ENDED];
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  }).listen(socket);
  await once(server, 'listening');
  engine = createEngine(`unix://${socket}`);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

test('a container with a checkpoint is hibernated', async () => {
  [status, listed] = [200, [{ Name: 'rest-3' }, { Name: 'rest-12' }]];
  expect(await engine.inspect('some')).toMatchObject({ status: 'hibernated', checkpoint: 'rest-12' });
});

test.each([
  [200, null],
  [404, { message: 'page not found' }],
  [501, { message: 'This experimental feature is disabled by default.' }],
])('a container has ended when the engine answers that it has no checkpoint, with %i', async (code, value) => {
  [status, listed] = [code, value];
  expect(await engine.inspect('some')).toMatchObject({ status: 'ended' });
});

test('an engine that cannot say at the moment which checkpoints there are says nothing about the container, which may be hibernated', async () => {
  [status, listed] = [500, { message: 'open /var/lib/docker: too many open files' }];
  await expect(engine.inspect('some')).rejects.toMatchObject({
    code: 'DOCKER_FAILED',
    retryable: true,
    message: expect.stringContaining('too many open files'),
  });
  await expect(engine.checkpoints!.remove('some', 'rest-3')).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
});
