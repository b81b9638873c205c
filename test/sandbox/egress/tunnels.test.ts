import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { connect as connectSecurely } from 'node:tls';
import { everything, startSmallInternet, type Proxy, type SmallInternet } from './small-internet.ts';

let net: SmallInternet;
let proxy: Proxy;
let authority: string;

beforeAll(async () => {
  net = await startSmallInternet(['open.test', 'other.test', 'keyed.test']);
  const ports = [net.http, net.https, net.raw];
  proxy = await net.proxy(
    [
      { host: 'open.test', ports },
      { host: '127.0.0.1', ports },
      { host: 'keyed.test', ports, headers: { authorization: '${env.TOKEN}' } },
      { host: 'raw.test', ports, raw: true },
    ],
    { helloMs: 1000 },
  );
  authority = `open.test:${net.https}`;
});
beforeEach(() => {
  net.seen.length = 0;
  net.script.answer = '';
});
afterAll(() => net[Symbol.asyncDispose]());

/** What a TLS client says first. */
async function helloFor(servername: string | undefined, options: object = {}): Promise<Buffer> {
  const said = new PassThrough();
  const wire = new Duplex({ read: () => undefined, write: (chunk: Buffer, _encoding, done) => void said.write(chunk, () => done()) });
  const client = connectSecurely({ socket: wire, ...(servername !== undefined && { servername }), ...options });
  client.on('error', () => undefined);
  const [hello] = (await once(said, 'data')) as [Buffer];
  client.destroy();
  return hello;
}

/** One record made into many. */
function inRecords(hello: Buffer, bytes: number): Buffer {
  const content = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < content.length; at += bytes) {
    const part = content.subarray(at, at + bytes);
    records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

async function say(bytes: Buffer | string, to = authority): Promise<string> {
  const tunnel = await proxy.tunnel(to);
  const all = everything(tunnel);
  tunnel.write(bytes);
  return all;
}

const ALERT = '\x15\x03\x01\x00\x02\x02\x70';

describe('TLS in a tunnel', () => {
  const get = async (servername: string, to: string) => {
    const secure = await proxy.secure(await proxy.tunnel(to), servername, { rejectUnauthorized: false });
    const all = everything(secure);
    secure.end(`GET / HTTP/1.1\r\nHost: ${to}\r\nConnection: close\r\n\r\n`);
    return all;
  };

  test('asks for the name of the tunnel, in any case', async () => {
    expect(await get('open.test', authority)).toContain('200 OK');
    expect(await get('OPEN.Test', authority)).toContain('200 OK');
    expect(await get('', `127.0.0.1:${net.https}`).catch((error: Error) => error.message)).not.toContain('unrecognized');
  });

  test.each([
    ['another name', 'other.test', 'the connection is to open.test, and its TLS asks for the name "other.test"'],
    ['a name with a dot at its end', 'open.test.', 'asks for the name "open.test."'],
    ['no name', undefined, 'asks for no name (SNI)'],
  ])('with %s is refused', async (_what, servername, why) => {
    const own = await net.proxy([{ host: 'open.test', ports: [net.https] }]);
    const tunnel = await own.tunnel(authority);
    const all = everything(tunnel);
    tunnel.write(await helloFor(servername));
    expect(await all).toBe(ALERT);
    expect(String(await own.refusals())).toContain(why);
  });

  test('to a host with credentials asks for its name as well', async () => {
    expect(await say(await helloFor('open.test'), `keyed.test:${net.https}`)).toBe(ALERT);
  });

  test('is recognized over any number of segments and records', async () => {
    const hello = await helloFor('open.test');
    for (const bytes of [1, 3, 50, 200]) {
      const tunnel = await proxy.tunnel(authority);
      const answered = once(tunnel.resume(), 'data');
      for (const byte of inRecords(hello, bytes).values()) tunnel.write(Buffer.of(byte));
      // The record of a server's handshake or of its complaint about such records: it was asked at any rate.
      expect([0x15, 0x16]).toContain(((await answered) as [Buffer])[0][0]);
      tunnel.destroy();
    }
    expect(await say(inRecords(await helloFor('other.test'), 1))).toBe(ALERT);
  });

  test.each<[string, () => Promise<Buffer>]>([
    ['a hello that never ends', async () => (await helloFor('open.test')).subarray(0, 100)],
    ['a hello of 16 MB', async () => Buffer.from([0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
    [
      'a hello that is too large',
      async () => Buffer.concat(Array.from({ length: 10 }, () => Buffer.from([0x16, 3, 1, 0x3f, 0, 1, 0, 0xff, 0xff, ...Buffer.alloc(0x3efc)]))),
    ],
    ['another handshake', async () => Buffer.from([0x16, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['an empty record', async () => Buffer.from([0x16, 3, 1, 0, 0])],
    ['lengths that lie', async () => Buffer.from([0x16, 3, 1, 0, 8, 1, 0, 0, 4, 3, 3, 0, 0])],
    ['two names', async () => withNames(await helloFor('open.test'), ['open.test', 'other.test'])],
    ['a name of another kind', async () => withNames(await helloFor('open.test'), ['open.test'], 1)],
  ])('%s is refused in time', async (_what, bytes) => {
    const late = 'HTTP/1.1 403 Forbidden (neither TLS nor HTTP arrived within 1 s';
    expect([ALERT, late]).toContain((await say(await bytes())).slice(0, late.length));
  });

  test('stays TLS', async () => {
    net.script.answer = '\x16\x03\x03\x00\x01.';
    const to = `open.test:${net.raw}`;
    const hello = await helloFor('open.test');
    expect(await say(hello, to)).toBe(net.script.answer);
    await say(Buffer.concat([hello, Buffer.from('GET / HTTP/1.1\r\n\r\n')]), to);
    expect(net.received()).not.toContain('GET');
    net.script.answer = 'SSH-2.0-OpenSSH\r\n';
    expect(await say(hello, to)).toBe('');
  });
});

describe('without TLS, a tunnel', () => {
  test('takes HTTP, each request for its own host', async () => {
    const to = `open.test:${net.http}`;
    const get = (path: string, host: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const text = await say(get('/a', to) + get('/b', to) + get('/c', 'other.test') + get('/d', to), to);
    expect(net.seen.map(({ url }) => url)).toEqual(['/a', '/b']);
    expect(text).toContain(`421 Misdirected Request (the connection is to ${to}, the request to another host)`);
    expect(await say(`GET http://other.test/ HTTP/1.1\r\nHost: ${to}\r\n\r\n`, to)).toContain('400 Bad Request (in a tunnel, the target');
  });

  test.each([
    ['ssh', 'SSH-2.0-OpenSSH_9.6 Debian\r\n'],
    ['Postgres', Buffer.from('0000000804d2162f', 'hex')],
    ['Redis', '*1\r\n$4\r\nPING\r\n'],
    ['a mail program', 'EHLO me\r\n'],
  ])('does not take %s, and says what to write', async (_what, bytes) => {
    const why = `this is neither TLS nor HTTP; for another protocol, write { host: "open.test", ports: [${net.raw}], raw: true }`;
    expect(await say(bytes, `open.test:${net.raw}`)).toContain(`403 Forbidden (${why})`);
    expect(net.received()).toBe('');
  });

  test('does not wait for ever for a first word', async () => {
    expect(await everything(await proxy.tunnel(`open.test:${net.raw}`))).toContain(
      `403 Forbidden (neither TLS nor HTTP arrived within 1 s; for another protocol, write { host: "open.test", ports: [${net.raw}], raw: true })`,
    );
  });

  test('takes anything where the rule says raw, also a host that speaks first', async () => {
    net.script.answer = 'pong';
    expect(await say('*1\r\n$4\r\nPING\r\n', `raw.test:${net.raw}`)).toBe('pong');
    const greeter = createServer((socket) => socket.end('220 ready\r\n')).listen(0, '127.0.0.1');
    try {
      await once(greeter, 'listening');
      const { port } = greeter.address() as AddressInfo;
      const own = await net.proxy([{ host: 'mail.test', ports: [port], raw: true }]);
      const socket: Socket = await own.tunnel(`mail.test:${port}`);
      socket.end();
      expect(await everything(socket)).toBe('220 ready\r\n');
    } finally {
      greeter.close();
    }
  });

  test('is refused for another port of the host', async () => {
    await expect(proxy.tunnel('open.test:22')).rejects.toThrow('403 Forbidden (open.test:22: of this host only port');
  });
});

describe('a WebSocket', () => {
  const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
  const ask = (to: string) =>
    `GET http://${to}/chat HTTP/1.1\r\nHost: ${to}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`;
  const accept = (proof: string) => `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`;

  test('is carried when the host understood the handshake', async () => {
    net.script.answer = `${accept('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')}\x81\x05hello`;
    const text = await proxy.speak(`${ask(`open.test:${net.raw}`)}\x81\x00`);
    expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(text).toContain('\r\n\r\n\x81\x05hello');
    expect(net.received()).toContain('Connection: Upgrade\r\nUpgrade: websocket\r\n');
  });

  test('is not when it did not', async () => {
    net.script.answer = accept('bm90IHRoaXM=');
    expect(await proxy.speak(ask(`open.test:${net.raw}`))).toContain('it changed the protocol without being asked to');
  });
});

/** The same hello with other names in its extension. */
function withNames(hello: Buffer, names: string[], kind = 0): Buffer {
  const own = Buffer.from('open.test');
  const at = hello.indexOf(own) - 9;
  const entries = Buffer.concat(names.map((name) => Buffer.concat([Buffer.from([kind, 0, name.length]), Buffer.from(name)])));
  const extension = Buffer.concat([Buffer.from([0, 0, 0, entries.length + 2, 0, entries.length]), entries]);
  const grown = Buffer.concat([hello.subarray(0, at), extension, hello.subarray(at + 9 + own.length)]);
  const more = grown.length - hello.length;
  // Of the record, of the message, and of all extensions, which come after the suites and the one way of compressing.
  grown.writeUInt16BE(hello.readUInt16BE(3) + more, 3);
  grown.writeUIntBE(hello.readUIntBE(6, 3) + more, 6, 3);
  const session = 5 + 4 + 2 + 32;
  const suites = session + 1 + (hello[session] ?? 0);
  const extensions = suites + 2 + hello.readUInt16BE(suites) + 2;
  grown.writeUInt16BE(hello.readUInt16BE(extensions) + more, extensions);
  return grown;
}
