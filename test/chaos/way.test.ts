import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { openWay, type Way } from '../../scripts/chaos/faults/way.ts';

/** Says back what it hears, and remembers it. */
async function openEcho(): Promise<{ server: Server; heard: string[]; port: number }> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (piece) => {
      heard.push(piece.toString());
      socket.write(`you say ${piece.toString()}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, heard, port: (server.address() as AddressInfo).port };
}

let echo: Awaited<ReturnType<typeof openEcho>>;
let way: Way;
let sockets: Socket[];
beforeEach(async () => {
  echo = await openEcho();
  way = await openWay(() => ({ host: '127.0.0.1', port: echo.port }));
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await way[Symbol.asyncDispose]();
  await new Promise((resolve) => echo.server.close(resolve));
});

async function open(): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: way.port });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** The answer, or that the connection was ended. */
async function ask(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return await answer(socket);
}

function answer(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (piece: Buffer) => resolve(piece.toString()));
    socket.once('close', () => resolve('ended'));
    if (socket.destroyed) resolve('ended');
  });
}

test('what is said may be lost or late by choice, in its order', async () => {
  const choices = [undefined, 300, undefined, 'before', 'after'] as const;
  const asked: unknown[] = [];
  way.disturb(() => choices[asked.push(0) - 1]);
  const socket = await open();
  expect(await ask(socket, 'one')).toBe('you say one');
  const begun = performance.now();
  socket.write('two');
  while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  socket.write('three');
  await once(socket, 'data');
  expect(performance.now() - begun).toBeGreaterThanOrEqual(290);
  while (echo.heard.join('') !== 'onetwothree') await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await ask(await open(), 'four')).toBe('ended');
  expect(await ask(await open(), 'five')).toBe('ended');
  expect([echo.heard.join(''), way.dropped()]).toEqual(['onetwothreefive', 2]);
});

test('what is said arrives, and the answer comes back', async () => {
  const socket = await open();
  expect(await ask(socket, 'one')).toBe('you say one');
  expect(await ask(socket, 'two')).toBe('you say two');
});

test('a cut ends all connections and refuses new ones until it is healed', async () => {
  const first = await open();
  expect(await ask(first, 'one')).toBe('you say one');
  const ended = answer(first);
  way.cut();
  expect(await ended).toBe('ended');
  expect(await ask(await open(), 'two')).toBe('ended');
  way.heal();
  expect(await ask(await open(), 'three')).toBe('you say three');
  expect(echo.heard).toEqual(['one', 'three']);
});

test('in a silence connections stay and nothing arrives; its end ends them', async () => {
  const socket = await open();
  expect(await ask(socket, 'one')).toBe('you say one');
  way.silence();
  const late = await open();
  const lost = [ask(socket, 'two'), ask(late, 'two')];
  way.heal();
  expect(await Promise.all(lost)).toEqual(['ended', 'ended']);
  expect(await ask(await open(), 'three')).toBe('you say three');
  expect(echo.heard).toEqual(['one', 'three']);
});

test('in a silence the server does not hear that a client has ended, and hears of no new one', async () => {
  const arrived: Socket[] = [];
  echo.server.on('connection', (socket) => arrived.push(socket));
  const socket = await open();
  expect(await ask(socket, 'one')).toBe('you say one');
  way.silence();
  socket.destroy();
  const late = await open();
  late.destroy();
  await Promise.all([socket, late].map(async (each) => each.closed || once(each, 'close')));
  // What is asked past the silence is answered after all that came before.
  const aside = connect({ host: '127.0.0.1', port: echo.port });
  sockets.push(aside);
  expect(await ask(aside, 'two')).toBe('you say two');
  expect(arrived).toHaveLength(2);
  const [heldOpen] = arrived;
  expect(heldOpen?.readyState).toBe('open');
  const ended = once(heldOpen!, 'close');
  way.heal();
  await ended;
});

test('a drop before: the server has not heard it; a drop after: it has, and its answer is lost; each ends one connection', async () => {
  const [first, second, third] = [await open(), await open(), await open()];
  way.dropNext('before');
  expect(await ask(first, 'one')).toBe('ended');
  expect(echo.heard).toEqual([]);
  way.dropNext('after');
  expect(await ask(second, 'two')).toBe('ended');
  expect(echo.heard).toEqual(['two']);
  expect(await ask(third, 'three')).toBe('you say three');
  expect(way.dropped()).toBe(2);
});

test('without a target connections are refused', async () => {
  await using closed = await openWay(() => undefined);
  const socket = connect({ host: '127.0.0.1', port: closed.port });
  socket.on('error', () => undefined);
  expect(await ask(socket, 'one')).toBe('ended');
});

test('what a server said before it ended arrives', async () => {
  const farewell = createServer((socket) => socket.end('x'.repeat(1_000_000)));
  await new Promise<void>((resolve) => farewell.listen(0, '127.0.0.1', resolve));
  await using through = await openWay(() => ({ host: '127.0.0.1', port: (farewell.address() as AddressInfo).port }));
  const socket = connect({ host: '127.0.0.1', port: through.port });
  let length = 0;
  socket.on('data', (piece: Buffer) => (length += piece.length));
  await once(socket, 'close');
  expect(length).toBe(1_000_000);
  await new Promise((resolve) => farewell.close(resolve));
});
