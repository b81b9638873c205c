import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from '../sandbox/support.ts';
import { startApi, type TestApi } from '../support.ts';
import { openRawSocket } from '../support/raw-socket.ts';

/** WebSockets of terminals and of ports, at a service that waits for less long than users see. */
const TIMES = { heartbeatMs: 200, stalledMs: 4_000 };
const PORT = 3000;
const TERMINAL = '/v1/conversations/:id/terminals/:name';
const PORTS = '/v1/conversations/:id/ports/:port/*';

interface Line {
  msg: string;
  route?: string;
  status?: number;
  broken?: true;
  ms: number;
  bytes: number;
  actor?: { kind: string; id: string };
  tenant?: string;
}

let sandbox: SandboxService;
let service: TestApi;
let headers: { authorization: string };
const lines: Line[] = [];
beforeAll(async () => {
  sandbox = await openSandboxService();
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  service = await startApi(sandbox.installation, { times: TIMES }, { log });
  headers = await sandbox.key(['sandbox:exec', 'ports:connect'], 'north');
  const program = await readFile(new URL('../ports/guest-server.py', import.meta.url));
  await sandbox.ask('/files/server.py', { method: 'PUT', body: program });
  const body = JSON.stringify({ command: `exec python3 server.py ${PORT}`, timeoutMs: 0 });
  await sandbox.ask('/commands', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await until(async () => (await sandbox.ask(`/ports/${PORT}/ready`)).status === 200, 'the server listens');
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
}, 180_000);

const urlOf = (path: string, { url } = service) => `${url.replace('http', 'ws')}/v1/conversations/${sandbox.id}${path}`;
const connections = (api = service) => promisify(api.api.server.getConnections.bind(api.api.server))();

async function open(path: string, at = service): Promise<WebSocket> {
  const socket = new WebSocket(urlOf(path, at), { headers });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

/** Breaks a connection, as a machine does that has started again. */
function resetOf(socket: WebSocket): void {
  (socket as unknown as { _socket: Socket })._socket.resetAndDestroy();
}

/** The line of the next request of this route that ends. */
async function lineOf(route: string, end: () => Promise<unknown>): Promise<Line> {
  const before = lines.length;
  await end();
  const found = () => lines.slice(before).find((line) => line.msg === 'request' && line.route === route);
  await until(async () => found() !== undefined, `the log has a line of ${route}`);
  return found()!;
}

/** What Prometheus reads, over a connection that is not kept. */
async function metrics(): Promise<string> {
  const sent = request(`${service.url}/metrics`, { agent: false, headers: await service.key(['admin']) }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return text(answer);
}

/** How often requests of a route have ended with a status. */
async function counted(route: string, status: number): Promise<number> {
  const figures = await metrics();
  expect(figures).not.toContain(`longshore_api_request_seconds_count{route="${route}"`);
  const line = figures.split('\n').find((each) => each.startsWith(`longshore_api_requests_total{route="${route}",method="GET",status="${status}"} `));
  return Number(line?.split(' ').at(-1) ?? 0);
}

test.each([
  ['a terminal', '/terminals/logged?command=cat', TERMINAL],
  ['a port', `/ports/${PORT}/socket`, PORTS],
])(
  'a WebSocket of %s has a line at its end, with its time, bytes and caller, and is counted',
  async (_name, path, route) => {
    const before = await counted(route, 101);
    const [, keyId] = headers.authorization.split('_');
    const began = performance.now();
    const whole = await lineOf(route, async () => {
      const socket = await open(path);
      socket.send('{"type":"input","text":"ahoy\\r"}');
      await once(socket, 'message');
      socket.close();
      await once(socket, 'close');
    });
    expect(whole).toMatchObject({ status: 101, actor: { kind: 'key', id: keyId }, tenant: 'north' });
    expect([whole.broken, whole.ms <= performance.now() - began, whole.bytes > 100]).toEqual([undefined, true, true]);
    const cut = await lineOf(route, async () => resetOf(await open(path)));
    expect([cut.status, cut.broken]).toEqual([101, true]);
    expect(await counted(route, 101)).toBe(before + 2);
  },
  60_000,
);

test('a handshake that is wrong is a line with its status', async () => {
  const wrong = { ...headers, 'sec-websocket-key': 'x' };
  const line = await lineOf(TERMINAL, () => expect(openRawSocket(urlOf('/terminals/wrong?command=cat'), wrong)).rejects.toThrow('400'));
  expect([line.status, line.broken]).toEqual([400, undefined]);
});

test('a client of a terminal that answers no ping is cut off, and its terminal lives on; one that answers stays', async () => {
  const there = await open('/terminals/kept?command=cat');
  let vanished: Socket | undefined;
  const line = await lineOf(TERMINAL, async () => (vanished = await openRawSocket(urlOf('/terminals/kept'), headers)));
  expect([line.status, line.broken, line.ms > TIMES.stalledMs]).toEqual([101, true, true]);
  await until(async () => (await connections()) === 1, 'its connection is closed');
  vanished?.destroy();
  there.send('{"type":"input","text":"still here\\r"}');
  const [data] = (await once(there, 'message')) as [Buffer];
  expect(data.toString()).toContain('still here');
  there.send('{"type":"kill"}');
  await once(there, 'close');
}, 120_000);

test('a client of a terminal that takes nothing is cut off; one that reads slowly is not', async () => {
  const slow = await open('/terminals/endless?command=yes');
  slow.pause();
  let vanished: Socket | undefined;
  let bytes = 0;
  slow.on('message', (data: Buffer) => {
    bytes += data.length;
    slow.pause();
  });
  const reading = setInterval(() => slow.resume(), 10);
  try {
    const line = await lineOf(TERMINAL, async () => (vanished = await openRawSocket(urlOf('/terminals/endless'), headers)));
    expect([line.status, line.broken, line.ms > TIMES.stalledMs]).toEqual([101, true, true]);
    const read = bytes;
    await until(async () => bytes > read, 'the slow one reads on');
    expect(slow.readyState).toBe(WebSocket.OPEN);
  } finally {
    clearInterval(reading);
    vanished?.destroy();
    slow.send('{"type":"kill"}');
    slow.terminate();
  }
  await until(async () => (await connections()) === 0, 'nothing is open');
}, 120_000);

test('a caller who takes nothing of what a port sends is cut off, at a WebSocket and at an answer', async () => {
  let vanished: Socket | undefined;
  const line = await lineOf(PORTS, async () => (vanished = await openRawSocket(urlOf(`/ports/${PORT}/endless`), headers)));
  expect([line.status, line.broken, line.ms > TIMES.stalledMs]).toEqual([101, true, true]);
  vanished?.destroy();
  const leaving = new AbortController();
  // Kept for the whole test: an answer of `fetch` that nobody holds is closed by the garbage collector.
  let answer: Response | undefined;
  const cut = await lineOf(PORTS, async () => {
    answer = await fetch(`${service.url}/v1/conversations/${sandbox.id}/ports/${PORT}/endless`, { headers, signal: leaving.signal });
  });
  expect(answer?.status).toBe(200);
  expect([cut.status, cut.broken, cut.ms > TIMES.stalledMs]).toEqual([200, true, true]);
  leaving.abort();
  await until(async () => (await connections()) === 0, 'nothing is open');
}, 120_000);

test('a WebSocket over which nothing goes is closed: a terminal says why', async () => {
  await using quiet = await startApi(sandbox.installation, { idleMs: 1_000 });
  for (const [path, code] of [
    ['/terminals/quiet?command=cat', 4008],
    [`/ports/${PORT}/socket`, 1006],
  ] as const) {
    expect(await once(await open(path, quiet), 'close')).toEqual([code, expect.anything()]);
  }
  await until(async () => (await connections(quiet)) === 0, 'nothing is open');
}, 120_000);

test('a caller who breaks off before the answer is counted, with a status of its own', async () => {
  const route = '/v1/conversations/:id/commands';
  const waiting = new AbortController();
  const body = JSON.stringify({ command: 'touch begun; exec sleep 60' });
  const asked = fetch(`${service.url}/v1/conversations/${sandbox.id}/commands?wait=30`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
    signal: waiting.signal,
  });
  await until(async () => (await sandbox.ask('/files/begun?info')).status === 200, 'the command runs');
  const line = await lineOf(route, async () => {
    waiting.abort();
    await asked.catch(() => undefined);
  });
  expect([line.status, line.broken]).toEqual([undefined, true]);
  const figures = await metrics();
  expect(figures).toContain(`longshore_api_requests_total{route="${route}",method="POST",status="499"} 1`);
  expect(figures).not.toContain(`longshore_api_request_seconds_count{route="${route}"`);
}, 120_000);
