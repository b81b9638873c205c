import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { startSmallInternet, type Proxy, type SmallInternet } from './small-internet.ts';

let net: SmallInternet;
let proxy: Proxy;

beforeEach(() => void import.meta.jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] }));
beforeEach(async () => {
  net = await startSmallInternet(['open.test']);
  proxy = await net.proxy([{ host: 'open.test', ports: [net.http] }]);
});
afterEach(() => net[Symbol.asyncDispose]());
afterEach(() => void import.meta.jest.useRealTimers());

/** A guest that asks once, stays connected, and takes what it is sent only when `take` is called. */
function slowGuest(fields: string[]) {
  const shown: Buffer[] = [];
  const held: (() => void)[] = [];
  let takes = false;
  const connection = new Duplex({
    allowHalfOpen: true,
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      shown.push(chunk);
      if (takes) done();
      else held.push(done);
    },
  });
  connection.on('error', () => undefined);
  connection.push([`GET http://open.test:${net.http}/ HTTP/1.1`, `Host: open.test:${net.http}`, ...fields, '', ''].join('\r\n'));
  proxy.accept(connection);
  return {
    connection,
    text: () => Buffer.concat(shown).toString(),
    take() {
      takes = true;
      for (const done of held.splice(0)) done();
    },
  };
}

/** Waits until the worker has said all that it will say: the origin's answer is in the queue of the connection. */
async function queued(connection: Duplex, isThere: () => boolean): Promise<void> {
  while (!isThere() && !connection.destroyed) await new Promise((resolve) => setImmediate(resolve));
}

test('a guest that is slow to read the end of an answer gets all of it, also when its connection ends there', async () => {
  const guest = slowGuest(['Connection: close']);
  await queued(guest.connection, () => guest.connection.writableEnded);
  import.meta.jest.advanceTimersByTime(600_000);
  guest.take();
  await queued(guest.connection, () => guest.connection.writableFinished);
  expect(guest.text()).toMatch(/seen \/\r\n0\r\n\r\n$|seen \/$/);
  expect(guest.connection.destroyed).toBe(false);
  // It keeps the connection, and says nothing more.
  import.meta.jest.advanceTimersByTime(300_000);
  expect(guest.connection.destroyed).toBe(true);
});

test('the time between two requests begins when the guest has taken the answer', async () => {
  const guest = slowGuest([]);
  await queued(guest.connection, () => guest.connection.writableLength > 100);
  import.meta.jest.advanceTimersByTime(600_000);
  await new Promise((resolve) => setImmediate(resolve));
  guest.take();
  await queued(guest.connection, () => guest.connection.writableLength === 0);
  expect(guest.text()).toContain('seen /');
  expect(guest.connection.destroyed).toBe(false);
});

test('a guest that sends on after the end of its connection is cut off', async () => {
  const guest = slowGuest(['Connection: close']);
  guest.take();
  await queued(guest.connection, () => guest.connection.writableFinished);
  guest.connection.push('more');
  await new Promise((resolve) => setImmediate(resolve));
  import.meta.jest.advanceTimersByTime(6_000);
  expect(guest.connection.destroyed).toBe(true);
});

test('HTTP in a tunnel reaches a server that serves one connection at a time', async () => {
  const waiting: Socket[] = [];
  const serve = (socket: Socket | undefined): void => {
    socket?.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone'));
    socket?.on('error', () => undefined).resume();
    socket?.once('end', () => socket.end());
    socket?.once('close', () => {
      waiting.shift();
      serve(waiting[0]);
    });
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    if (waiting.push(socket) === 1) serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const to = `open.test:${(server.address() as AddressInfo).port}`;
  const own = await net.proxy([{ host: 'open.test', ports: [(server.address() as AddressInfo).port] }]);
  try {
    const tunnel = await own.tunnel(to);
    tunnel.write(`GET / HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
    tunnel.resume();
    const [answer] = (await once(tunnel, 'data')) as [Buffer];
    expect(String(answer)).toContain('200 OK');
    tunnel.destroy();
  } finally {
    for (const socket of waiting) socket.destroy();
    server.close();
  }
}, 20_000);
