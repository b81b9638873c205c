import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { openBackend } from '../conformance/backends.ts';
import { createTestSandboxes, RUNTIMES, until, type TestSandboxes } from './support.ts';

const never = new AbortController().signal;
describe.each(RUNTIMES)('in %s', (runtime) => {
  let parts: TestSandboxes;
  let handle: WorkerHandle;
  beforeAll(async () => {
    parts = await createTestSandboxes();
    ({ handle } = await parts.sandboxes.open(parts.newOwner(), { runtime, egress: ['open.test'] }));
  }, 120_000);
  afterAll(async () => {
    await parts[Symbol.asyncDispose]();
  });

  /** A connection to a port, and its end. */
  async function connect(port: number, signal = never): Promise<{ connection: Duplex; ended: Promise<void> }> {
    let opened: (connection: Duplex) => void = () => undefined;
    const open = new Promise<Duplex>((resolve) => (opened = resolve));
    const ended = handle.connectPort(port, { onOpen: opened, signal });
    const connection = await Promise.race([open, ended.then(() => open)]);
    ended.catch(() => undefined);
    return { connection, ended };
  }

  async function serve(port: number, program: string, address = '127.0.0.1'): Promise<void> {
    const family = address.includes(':') ? 'AF_INET6' : 'AF_INET';
    const listener = `listener = socket.create_server(("${address}", ${port}), family=socket.${family})`;
    await handle.start(`exec python3 -c 'import socket\n${listener}\n${program}'`, { timeoutMs: 0 });
    const listens = `grep -i ":${port.toString(16).padStart(4, '0')} .* 0A" /proc/net/tcp /proc/net/tcp6`;
    await until(async () => (await handle.run(listens)).exitCode === 0, 'it listens');
  }

  test('bytes pass in both directions, and each direction ends by itself', async () => {
    await serve(
      4000,
      'while True:\n    c, _ = listener.accept()\n    data = b""\n    while True:\n        more = c.recv(65536)\n        if not more: break\n        data += more\n    c.sendall(data[::-1])\n    c.close()',
    );
    const { connection, ended } = await connect(4000);
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
    connection.end(sent);
    const chunks: Buffer[] = [];
    for await (const chunk of connection as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(sent.toReversed())).toBe(true);
    await ended;
  }, 60_000);

  test('a connection that the guest breaks, or the caller, is broken and not ended', async () => {
    await serve(
      4001,
      'import struct\nwhile True:\n    c, _ = listener.accept()\n    c.sendall(b"half")\n    c.recv(1)\n    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))\n    c.close()',
    );
    const one = await connect(4001);
    one.connection.write('x');
    await expect(text(one.connection)).rejects.toThrow('the guest broke the connection');
    await expect(one.ended).rejects.toMatchObject({ code: 'INTERNAL' });
    const leaving = new AbortController();
    const other = await connect(4001, leaving.signal);
    await once(other.connection, 'readable');
    leaving.abort();
    await expect(other.ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
  }, 60_000);

  test('a sandbox has no more connections than it may, and room again when they have ended', async () => {
    await serve(4002, 'kept = []\nwhile True: kept.append(listener.accept())');
    const leaving = new AbortController();
    for (let count = 0; count < 256; count += 1) await connect(4002, leaving.signal);
    await expect(connect(4002)).rejects.toMatchObject({ code: 'PORT_CLOSED', values: { problem: 'the sandbox has 256 such connections, as many as it may' } });
    leaving.abort();
    const { connection } = await connect(4002);
    connection.destroy();
  }, 60_000);

  // Containers of older engines have no such address; sandboxes of gVisor always have it.
  test('a server that listens on ::1 alone is reached', async () => {
    const hasAddress = (await handle.run('python3 -c \'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)\'')).exitCode === 0;
    expect(hasAddress || runtime === 'runc').toBe(true);
    if (!hasAddress) return;
    await serve(4003, 'while True: listener.accept()[0].send(b"six")', '::1');
    const { connection } = await connect(4003);
    connection.end();
    expect(await text(connection)).toBe('six');
  }, 60_000);

  test('nothing listens: an error, which says so; the port of the supervisor for egress is none of the guest', async () => {
    await expect(connect(4999)).rejects.toMatchObject({ code: 'PORT_CLOSED', values: { port: 4999, problem: 'nothing listens there' } });
    const proxy = (await handle.run('echo "$http_proxy"')).stdout.text.trim();
    await expect(connect(Number(new URL(proxy).port))).rejects.toMatchObject({ code: 'PORT_CLOSED', values: { problem: 'the sandbox uses this port itself' } });
    for (const port of [0, 65_536, 1.5, '80'] as number[]) await expect(connect(port)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

test('a sandbox without a container has no ports: they would be those of this machine', async () => {
  await using backend = await openBackend('local');
  const refused = { code: 'PORT_CLOSED', values: { problem: 'a sandbox without a container has no ports of its own' } };
  await expect(backend.handle.connectPort(80, { onOpen: () => undefined, signal: never })).rejects.toMatchObject(refused);
}, 60_000);
