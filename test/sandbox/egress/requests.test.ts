import { everything, startSmallInternet, type Proxy, type SmallInternet } from './small-internet.ts';

let net: SmallInternet;
let proxy: Proxy;
let on: string;

beforeAll(async () => {
  net = await startSmallInternet(['open.test', 'keyed.test']);
  const ports = [net.http, net.https, net.raw];
  const headers = { authorization: 'Bearer ${env.TOKEN}' };
  proxy = await net.proxy([
    { host: 'open.test', ports },
    { host: 'keyed.test', ports, headers },
    { host: 'clear.test', ports, headers, cleartext: true },
    { host: 'broken.test', ports, headers: { authorization: '${env.BROKEN}' }, cleartext: true },
  ]);
  on = `open.test:${net.http}`;
});
beforeEach(() => {
  net.seen.length = 0;
});
afterAll(() => net[Symbol.asyncDispose]());

const request = (fields: string[], body = '', method = 'POST') => [`${method} http://${on}/first HTTP/1.1`, ...fields, '', body].join('\r\n');
const hosted = (fields: string[], body = '', method = 'POST') => request([`Host: ${on}`, ...fields], body, method);
const NEXT = () => `GET http://${on}/smuggled HTTP/1.1\r\nHost: ${on}\r\n\r\n`;

describe('what could be read in two ways is answered with 400', () => {
  test.each<[string, () => string, string]>([
    ['a length and chunks', () => hosted(['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'), 'both content-length and transfer-encoding'],
    ['two lengths', () => hosted(['Content-Length: 5', 'Content-Length: 6'], 'hello!'), 'more than one content-length'],
    ['the same length twice', () => hosted(['Content-Length: 5', 'content-length: 5'], 'hello'), 'more than one content-length'],
    ['a list of lengths', () => hosted(['Content-Length: 5, 5'], 'hello'), 'a content-length that is not a number of bytes'],
    ['a signed length', () => hosted(['Content-Length: +5'], 'hello'), 'a content-length that is not a number of bytes'],
    ['a length in hexadecimal digits', () => hosted(['Content-Length: 0x5'], 'hello'), 'a content-length that is not a number of bytes'],
    ['no length', () => hosted(['Content-Length:'], 'hello'), 'a content-length that is not a number of bytes'],
    ['an endless length', () => hosted(['Content-Length: 99999999999999999999'], 'hello'), 'a content-length that is not a number of bytes'],
    ['another coding', () => hosted(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'), 'a transfer-encoding other than chunked'],
    ['two codings', () => hosted(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], '0\r\n\r\n'), 'a transfer-encoding other than chunked'],
    ['a misspelt coding', () => hosted(['Transfer-Encoding: xchunked'], '0\r\n\r\n'), 'a transfer-encoding other than chunked'],
    ['a coding behind a vertical tab', () => hosted(['Transfer-Encoding:\x0bchunked'], '0\r\n\r\n'), 'is not a header'],
    ['chunks in HTTP/1.0', () => hosted(['Transfer-Encoding: chunked'], '0\r\n\r\n').replace('/1.1', '/1.0'), 'which has no transfer-encoding'],
    ['a continued header', () => hosted(['X-A: 1', ' Content-Length: 5'], 'hello'), 'continued on a second line'],
    ['a head that begins with white space', () => request([` Host: ${on}`]), 'continued on a second line'],
    ['a bare line feed', () => hosted(['X-A: 1\nContent-Length: 5'], 'hello'), 'a line feed without a carriage return'],
    ['bare line feeds at the end', () => `GET http://${on}/ HTTP/1.1\nHost: ${on}\n\n`, 'a line feed without a carriage return'],
    ['a bare carriage return', () => hosted(['X-A: 1\rContent-Length: 5'], 'hello'), 'a carriage return without a line feed'],
    ['a NUL byte', () => hosted(['X-A: 1\0']), 'a NUL byte'],
    ['white space before a colon', () => hosted(['Content-Length : 5'], 'hello'), 'white space before its colon'],
    ['a header without a name', () => hosted([': 5']), 'is not a header'],
    ['a line that is no header', () => hosted(['hello']), 'is not a header'],
    ['two hosts', () => hosted(['Host: elsewhere.test']), 'more than one host header'],
    ['no host', () => request(['X-A: 1']), 'no host header'],
    ['an odd line', () => `GET  http://${on}/ HTTP/1.1\r\nHost: ${on}\r\n\r\n`, 'the first line of the request is not'],
    ['an empty line before the request', () => `\r\n${NEXT()}`, 'this is not HTTP'],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'HTTP/2 is not supported here'],
    ['HTTP/0.9', () => 'GET /\r\n\r\n', 'this is not HTTP'],
    ['a chunk size that is none', () => hosted(['Transfer-Encoding: chunked'], `x\r\n`), 'a chunk without a plain size'],
    ['a negative chunk size', () => hosted(['Transfer-Encoding: chunked'], `-1\r\n`), 'a chunk without a plain size'],
    ['a chunk size of nine digits', () => hosted(['Transfer-Encoding: chunked'], `100000000\r\n`), 'a chunk without a plain size'],
    ['a chunk extension', () => hosted(['Transfer-Encoding: chunked'], `5;a=b\r\nhello\r\n0\r\n\r\n`), 'a chunk without a plain size'],
    ['a chunk size and a bare line feed', () => hosted(['Transfer-Encoding: chunked'], `5\nhello\r\n0\r\n\r\n`), 'a chunk without a plain size'],
    ['a chunk longer than it says', () => hosted(['Transfer-Encoding: chunked'], `3\r\nhello\r\n0\r\n\r\n`), 'a chunk of another size than it says'],
    ['trailers', () => hosted(['Transfer-Encoding: chunked'], `0\r\nHost: elsewhere.test\r\n\r\n`), 'the request has trailers'],
    ['a body that ends early', () => hosted(['Content-Length: 500'], 'hello'), 'ends 495 bytes before its end'],
  ])('%s', async (_what, bytes, why) => {
    const own = bytes();
    // What follows must not count as a request either. A body that is too short would swallow it.
    const answer = await proxy.speak(why.startsWith('ends ') ? own : own + NEXT());
    expect(answer).toMatch(/^(HTTP\/1.1 100 Continue\r\n\r\n)?HTTP\/1\.1 400 Bad Request \(/);
    expect(answer).toContain(why);
    expect(answer.match(/HTTP\/1\.1 [2-5]/g)).toHaveLength(1);
    expect(net.seen).toEqual([]);
  });

  test('a head that is too long is answered with 431, byte by byte or at once, and a slow one with 408', async () => {
    expect(await proxy.speak(hosted([`X-A: ${'a'.repeat(70_000)}`]))).toContain(
      '431 Request Header Fields Too Large (the head of the request takes more than 65536',
    );
    const impatient = await net.proxy([{ host: 'open.test', ports: [net.http] }], { headMs: 100 });
    expect(await impatient.speak(`GET http://${on}/ HTTP/1.1\r\n`, { open: true })).toContain(
      '408 Request Timeout (the head of the request took more than 0.1 s',
    );
    const idle = await net.proxy([{ host: 'open.test', ports: [net.http] }], { idleMs: 100 });
    expect(await idle.speak('', { open: true })).toBe('');
  });
});

test('a Connection header takes away headers of the guest, and never the framing or the host', async () => {
  const named = 'Connection: close, content-length, transfer-encoding, host, x-hop';
  await proxy.speak(hosted([named, 'X-Hop: 1', 'X-Own: 1', `Content-Length: ${NEXT().length}`], NEXT()));
  await proxy.speak(hosted([named, 'Transfer-Encoding: chunked'], `5\r\nhello\r\n0\r\n\r\n`));
  expect(net.seen.map(({ url, body }) => [url, body])).toEqual([
    ['/first', NEXT()],
    ['/first', 'hello'],
  ]);
  expect(net.seen[0]?.headers).toMatchObject({ host: on, 'x-own': '1', connection: 'close' });
  expect(net.seen[0]?.headers).not.toHaveProperty('x-hop');
});

test('requests one after the other on one connection are answered in order, and one without its like ends it', async () => {
  const paths = Array.from({ length: 20 }, (_value, index) => `/p${index}`);
  const bytes = paths.map((path) => `POST http://${on}${path} HTTP/1.1\r\nHost: ${on}\r\nContent-Length: 3\r\n\r\nabc`).join('');
  const answer = await proxy.speak(bytes);
  expect(net.seen.map(({ url }) => url)).toEqual(paths);
  expect(answer.match(/seen \/p\d+/g)).toEqual(paths.map((path) => `seen ${path}`));
  net.seen.length = 0;
  expect(await proxy.speak(hosted(['Connection: close'], '', 'GET') + NEXT())).not.toContain('smuggled');
  expect(net.seen).toHaveLength(1);
});

test('a request may wait for the permission to send its body, and nothing else', async () => {
  const answer = await proxy.speak(hosted(['Expect: 100-continue', 'Content-Length: 5'], 'hello'));
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  expect(net.seen[0]?.body).toBe('hello');
  expect(net.seen[0]?.headers).not.toHaveProperty('expect');
  expect(await proxy.speak(hosted(['Expect: a miracle']))).toContain('417 Expectation Failed');
});

test('headers that choose another host are refused, and ones that name the same pass', async () => {
  for (const field of [
    'X-Forwarded-Host: elsewhere.test',
    'X-Forwarded-Host: open.test, elsewhere.test',
    'Forwarded: for=1;host="elsewhere.test"',
    'X-Host: elsewhere.test',
    'X_Forwarded_Host: elsewhere.test',
    'X.Forwarded.Host: elsewhere.test',
  ])
    expect(await proxy.speak(hosted([field]))).toContain('421 Misdirected Request');
  expect(await proxy.speak(request(['Host: elsewhere.test']))).toContain(`421 Misdirected Request (the connection is to ${on}, the request to another host)`);
  expect(net.seen).toEqual([]);
  expect(await proxy.speak(hosted(['X-Forwarded-Host: OPEN.test', `Forwarded: for=1;host=${on}`]))).toContain('200 OK');
});

test('what a guest sends is not in the reports of refusals, which have no secrets', async () => {
  const own = await net.proxy([{ host: 'open.test', ports: [net.http] }]);
  for (const sent of ['authorization Bearer sesame\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\nsesame\r\n']) {
    const tunnel = await own.tunnel(on);
    const all = everything(tunnel);
    tunnel.write(`POST / HTTP/1.1\r\nHost: ${on}\r\n${sent}`);
    expect(await all).toContain('sesame');
  }
  const refusals = String(await own.refusals());
  expect(refusals).toContain('a line of the head is not a header');
  expect(refusals).not.toContain('sesame');
});

test('an upgrade of another kind than WebSocket is not offered to the host', async () => {
  await proxy.speak(hosted(['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'], '', 'GET'));
  expect(net.seen[0]?.headers).toEqual({ host: on, connection: 'close' });
});

describe('credentials', () => {
  const keyed = (host: string) => `GET http://${host}:${net.http}/ HTTP/1.1\r\nHost: ${host}:${net.http}\r\n\r\n`;

  test('are not sent in the clear, unless the rule says so', async () => {
    const why = '403 Forbidden (credentials for keyed.test are not sent unencrypted; use https, or write cleartext: true in the rule of this host)';
    expect(await proxy.speak(keyed('keyed.test'))).toContain(why);
    const inside = await proxy.tunnel(`keyed.test:${net.http}`);
    const all = everything(inside);
    inside.end(`GET / HTTP/1.1\r\nHost: keyed.test:${net.http}\r\n\r\n`);
    expect(await all).toContain(why);
    expect(net.seen).toEqual([]);
    expect(await proxy.speak(keyed('clear.test'))).toContain('200 OK');
    expect(net.seen[0]?.headers.authorization).toBe('Bearer sesame');
  });

  test('are sent to the host whose certificate was checked, whatever the environment says', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const strange = await net.proxy([{ host: 'strange.test', ports: [net.https], headers: { authorization: '${env.TOKEN}' } }]);
      const secure = await strange.secure(await strange.tunnel(`strange.test:${net.https}`), 'strange.test');
      const all = everything(secure);
      secure.end(`GET / HTTP/1.1\r\nHost: strange.test:${net.https}\r\n\r\n`);
      expect(await all).toContain('502 Bad Gateway (strange.test cannot be reached');
      expect(net.seen).toEqual([]);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });

  test('that would end their header early are not sent', async () => {
    expect(await proxy.speak(keyed('broken.test'))).toContain('the credential for broken.test has a line break');
  });

  test('replace what the guest sends under the same name, also in other spellings', async () => {
    const bytes = keyed('clear.test').replace('\r\n\r\n', '\r\nAuthorization: mine\r\nAUTHORIZATION: mine\r\n\r\n');
    await proxy.speak(bytes);
    expect(net.seen[0]?.rawHeaders.filter((_value, index, all) => /^authorization$/i.test(all[index - 1] ?? ''))).toEqual(['Bearer sesame']);
  });

  test.each([
    ['GET http://elsewhere.test/ HTTP/1.1', 400],
    ['GET https://keyed.test/ HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['CONNECT keyed.test:443 HTTP/1.1', 400],
    ['GET /a#b HTTP/1.1', 400],
    ['GET \\\\elsewhere.test HTTP/1.1', 400],
    ['TRACE / HTTP/1.1', 405],
    ['trace / HTTP/1.1', 405],
    ['GET / HTTP/2.0', 400],
  ])('are not sent for "%s" inside a tunnel', async (line, status) => {
    const secure = await proxy.secure(await proxy.tunnel(`keyed.test:${net.https}`), 'keyed.test');
    const all = everything(secure);
    secure.end(`${line}\r\nHost: keyed.test:${net.https}\r\n\r\n`);
    expect(await all).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(net.seen).toEqual([]);
  });

  test('go with paths as they were written, and the host of the tunnel', async () => {
    const paths = ['/a//b/../c', '//elsewhere.test/x', '/%2e%2e/%2F?q=http://elsewhere.test/', '/?'];
    for (const path of paths) {
      const secure = await proxy.secure(await proxy.tunnel(`keyed.test:${net.https}`), 'keyed.test', { ALPNProtocols: ['h2', 'http/1.1'] });
      expect(secure.alpnProtocol).toBe('http/1.1');
      const all = everything(secure);
      secure.end(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: KEYED.test:${net.https}\r\n\r\n`, 'latin1'));
      expect(await all).toContain('200 OK');
    }
    expect(net.seen.map(({ url, headers }) => [url, headers.host, headers.authorization])).toEqual(
      paths.map((path) => [path, `keyed.test:${net.https}`, 'Bearer sesame']),
    );
  });
});

describe('of answers', () => {
  const ask = async (answer: string, method = 'GET') => {
    net.script.answer = answer;
    return proxy.speak(`${method} http://open.test:${net.raw}/ HTTP/1.1\r\nHost: open.test:${net.raw}\r\n\r\n`);
  };
  const body = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);

  test.each([
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 'both content-length and transfer-encoding'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello', 'more than one content-length'],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello', 'a transfer-encoding other than chunked'],
    ['a continued header', 'HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n', 'continued on a second line'],
    ['a bare line feed', 'HTTP/1.1 200 OK\nX: 1\n\n', 'a line feed without a carriage return'],
    ['a bare carriage return', 'HTTP/1.1 200 OK\r\nX: 1\rSet-Cookie: a\r\n\r\n', 'a carriage return without a line feed'],
    ['a NUL byte', 'HTTP/1.1 200 OK\r\nX: \0\r\n\r\n', 'a NUL byte'],
    ['something else', 'SSH-2.0-OpenSSH\r\n\r\n', 'its answer is not HTTP/1.1'],
    [
      'another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
      'it changed the protocol without being asked',
    ],
    ['interim answers for ever', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(30), 'interim answers only'],
    ['nothing', ' ', 'ends within its head'],
  ])('%s is not passed on', async (_what, answer, why) => {
    const text = await ask(answer);
    expect(text).toMatch(/^HTTP\/1\.1 502 Bad Gateway \(/);
    expect(text).toContain(why);
  });

  test('the framing is ours, and what comes after the end is dropped', async () => {
    expect(await ask('HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n')).toMatch(
      /\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello$/,
    );
    expect(body(await ask('HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nmore'))).toBe('5\r\nhello\r\n0\r\n\r\n');
    expect(body(await ask('HTTP/1.0 200\r\n\r\nhello'))).toBe('5\r\nhello\r\n0\r\n\r\n');
    expect(await ask('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'HEAD')).toMatch(/\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n$/);
    expect(body(await ask('HTTP/1.1 204 No Content\r\n\r\nhello'))).toBe('');
    expect(await ask('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 Not Found/,
    );
  });

  test.each(['5\r\nhel', '5\r\nhello', 'x\r\n', '5;a=b\r\nhello\r\n0\r\n\r\n', '0\r\nX: 1\r\n\r\n'])(
    'the part before a break is not taken for the whole: %j',
    async (chunks) => {
      const text = await ask(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
      expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
      expect(text).not.toContain('0\r\n\r\n');
    },
  );
});
