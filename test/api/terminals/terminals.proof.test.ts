import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from '../sandbox/support.ts';

const TERMINAL = 'longshore.terminal';
let service: SandboxService;
beforeAll(async () => {
  service = await openSandboxService();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
}, 180_000);

const addressOf = (name: string, query = '') => `${service.server.url.replace('http', 'ws')}/v1/conversations/${service.id}/terminals/${name}${query}`;

/** A client of a terminal: what it has seen, and what it was told. */
class Viewer {
  readonly socket: WebSocket;
  bytes = Buffer.alloc(0);
  readonly told: { type: string; from?: number; exitCode?: number }[] = [];
  readonly closed: Promise<unknown[]>;

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = once(socket, 'close');
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.bytes = Buffer.concat([this.bytes, data]);
      else this.told.push(JSON.parse(data.toString()) as Viewer['told'][number]);
    });
  }

  say(what: object): void {
    this.socket.send(JSON.stringify(what));
  }

  type(line: string): void {
    this.socket.send(Buffer.from(line));
  }

  shows(what: RegExp): Promise<void> {
    return until(async () => what.test(this.bytes.toString()), `${what} on the screen`);
  }
}

async function view(name: string, query = ''): Promise<Viewer> {
  const viewer = new Viewer(new WebSocket(addressOf(name, query), { headers: await service.key(['sandbox:exec'], 'north') }));
  await once(viewer.socket, 'open');
  return viewer;
}

const endOf = async ({ closed }: Viewer) => {
  const [code] = await closed;
  return code;
};

test('a shell is typed into, resized and interrupted, and tells how it has ended', async () => {
  const viewer = await view('main', '?columns=90&rows=20');
  viewer.type('stty size; cat\r');
  await viewer.shows(/[\r\n]20 90\r\n/);
  // An interruption that comes between the two commands is taken for one of the first, and the second begins all the same.
  viewer.type('here\r');
  await viewer.shows(/\r\nhere\r\nhere\r\n$/);
  viewer.type('\u0003');
  // What is typed before the prompt is thrown away with what was interrupted. The kernel of gVisor shows no "^C".
  await viewer.shows(/\r\nhere\r\n(\^C)?\r\n.*\$ $/);
  viewer.say({ type: 'resize', columns: 100, rows: 30 });
  viewer.say({ type: 'input', text: 'echo $((40 + 2)); stty size; exit 3\r' });
  await viewer.shows(/[\r\n]42\r\n30 100\r\n/);
  expect(await endOf(viewer)).toBe(1000);
  expect(viewer.told).toEqual([{ type: 'ready', from: 0 }, expect.objectContaining({ type: 'exit', status: 'exited', exitCode: 3 })]);
  const again = await view('main');
  expect([await endOf(again), again.bytes.equals(viewer.bytes), again.told.at(-1)?.exitCode]).toEqual([1000, true, 3]);
}, 60_000);

test('a client that was cut goes on from its last byte; two clients see the same, also what the other types', async () => {
  const one = await view('shared', '?command=bash');
  one.type('echo first\r');
  await one.shows(/[\r\n]first\r\n/);
  one.socket.terminate();
  const seen = one.bytes;
  const [two, three] = await Promise.all([view('shared', `?from=${seen.length}`), view('shared')]);
  two.type('echo second\r');
  await Promise.all([two.shows(/[\r\n]second\r\n/), three.shows(/[\r\n]second\r\n/)]);
  await until(async () => Buffer.concat([seen, two.bytes]).equals(three.bytes), 'both have seen the same');
  expect(two.told[0]).toEqual({ type: 'ready', from: seen.length });
  const list = (await (await service.ask('/terminals')).json()) as { terminals: { name: string; state: string }[] };
  expect(list.terminals.find(({ name }) => name === 'shared')).toMatchObject({ state: 'running' });
  three.say({ type: 'kill' });
  expect(await Promise.all([two, three].map(endOf))).toEqual([1000, 1000]);
  expect(two.told.at(-1)).toMatchObject({ type: 'exit', status: 'killed' });
}, 60_000);

test('two that open one terminal at the same time get one', async () => {
  const [one, two] = await Promise.all([view('race', '?columns=70'), view('race', '?columns=71')]);
  one.type('echo from-$((1 + 1)); exit\r');
  expect(await Promise.all([one, two].map(endOf))).toEqual([1000, 1000]);
  expect(two.bytes.toString()).toMatch(/[\r\n]from-2\r\n/);
}, 60_000);

test('pages of browsers give their key as a protocol, which is not repeated to them', async () => {
  const { authorization } = await service.key(['sandbox:exec'], 'north');
  const socket = new WebSocket(addressOf('page', '?command=true'), [TERMINAL, `bearer.${authorization.slice('Bearer '.length)}`]);
  await once(socket, 'open');
  expect(socket.protocol).toBe(TERMINAL);
  await once(socket, 'close');
});

/** Status and code of the refusal of a WebSocket. */
async function refusal(url: string, headers: Record<string, string>, protocols: string[] = []): Promise<[number | undefined, string]> {
  const socket = new WebSocket(url, protocols, { headers });
  socket.on('error', () => undefined);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  return [answer.statusCode, (JSON.parse(await text(answer)) as { code: string }).code];
}

test('who may not attach is refused with a problem, before there is a WebSocket', async () => {
  const { id, installation } = service;
  const own = await service.key(['sandbox:exec'], 'north');
  expect(await refusal(addressOf('x'), {})).toEqual([401, 'UNAUTHENTICATED']);
  expect(await refusal(addressOf('x'), {}, [TERMINAL, 'bearer.lsk_wrong'])).toEqual([401, 'UNAUTHENTICATED']);
  expect(await refusal(addressOf('x'), await service.key(['files:read'], 'north'))).toEqual([403, 'SCOPE_MISSING']);
  expect(await refusal(addressOf('x'), await service.key(['sandbox:exec'], 'south'))).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  for (const wrong of ['x?columns=0', 'x?rows=1001', 'x?from=-1', 'x?y=1', '-x', 'x%20y', 'x?user=root%00']) {
    expect([wrong, (await refusal(addressOf(wrong), own))[0]]).toEqual([wrong, 400]);
  }
  expect(await refusal(addressOf('root', '?user=nobody-here'), own)).toEqual([400, 'USER_NOT_FOUND']);
  const { id: bare } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north' });
  expect(await refusal(addressOf('x').replace(id, bare), own)).toEqual([404, 'SANDBOX_ABSENT']);
  await installation.longshore.close(bare);
  expect((await service.ask('/terminals/x')).status).toBe(400);
}, 60_000);

test('what means nothing ends the connection, and the terminal lives on', async () => {
  for (const [wrong, code] of [
    ['nonsense', 1008],
    ['{"type":"resize","columns":0,"rows":1}', 1008],
    ['{"type":"kill","x":1}', 1008],
    ['x'.repeat(1_000_001), 1009],
  ] as const) {
    const viewer = await view('kept');
    viewer.socket.send(wrong);
    expect(await endOf(viewer)).toBe(code);
  }
  const raw = await view('kept');
  // A frame of a reserved kind.
  (raw.socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(Buffer.from([0xff, 0x80, 0, 0, 0, 0]));
  expect(await endOf(raw)).toBe(1002);
  const viewer = await view('kept');
  viewer.type('exit\r');
  expect(await endOf(viewer)).toBe(1000);
}, 60_000);

test('a client that reads nothing while a program prints without end costs no memory, and reads on where it was', async () => {
  const memory = async () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${service.server.pid}/status`, 'utf8'))?.[1]) / 1024;
  const viewer = await view('endless', '?command=yes');
  await viewer.shows(/y\r\ny/);
  const before = await memory();
  viewer.socket.pause();
  const listed = async () => {
    const { terminals } = (await (await service.ask('/terminals')).json()) as { terminals: { name: string; state: string; outputBytes: number }[] };
    return terminals.find(({ name }) => name === 'endless');
  };
  const printed = async () => (await listed())?.outputBytes ?? 0;
  const start = await printed();
  await until(async () => (await printed()) > start + 10_000_000, 'much is printed');
  expect((await memory()) - before).toBeLessThan(60);
  const read = viewer.bytes.length;
  viewer.socket.resume();
  await until(async () => viewer.bytes.length > read + 1_000_000, 'it reads on');
  expect(viewer.bytes.equals(Buffer.alloc(viewer.bytes.length, 'y\r\n'))).toBe(true);
  viewer.socket.pause();
  viewer.say({ type: 'kill' });
  await until(async () => (await listed())?.state === 'ended', 'it is killed');
  viewer.socket.terminate();
}, 120_000);

test('when the service stops, clients are told to go elsewhere', async () => {
  const viewer = await view('last');
  await until(async () => viewer.told.length > 0, 'it is attached');
  const stopped = service.server.stop();
  expect(await endOf(viewer)).toBe(1001);
  expect(await stopped).toBe(0);
}, 60_000);
