import { createAddressPolicy } from '../../../src/network/address-policy.ts';
import { judgeConnection } from '../../../src/sandbox/egress/judge.ts';
import { everything, startSmallInternet, type Proxy, type SmallInternet } from './small-internet.ts';

let net: SmallInternet;
let proxy: Proxy;
let on: string;

beforeAll(async () => {
  net = await startSmallInternet(['open.test']);
  proxy = await net.proxy([
    { host: 'open.test', ports: [net.http, net.https] },
    { host: 'xn--bcher-kva.test', ports: [net.http] },
    { host: '127.0.0.1', ports: [net.http] },
  ]);
  on = `open.test:${net.http}`;
});
beforeEach(() => {
  net.seen.length = 0;
});
afterAll(() => net[Symbol.asyncDispose]());

const NEXT = () => `GET http://${on}/smuggled HTTP/1.1\r\nHost: ${on}\r\n\r\n`;
/** A request for a target, with a host that fits it as far as one can. */
const get = (target: string, host: string = on, more = '') => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

describe('a target that others could read as another host is refused, and nothing behind it is sent', () => {
  test.each<[string, () => string]>([
    ['user information', () => get(`http://user:pass@${on}/`)],
    ['an address of another as user information', () => get(`http://${on}@evil.test/`)],
    ['user information that hides in a port', () => get(`http://open.test:80@${on}/`)],
    ['an escaped separator', () => get(`http://open.test%2f@evil.test:${net.http}/`)],
    ['an escaped host', () => get(`http://open%2etest:${net.http}/`)],
    ['a backslash', () => get(`http://${on}\\@evil.test/`)],
    ['a backslash for a slash', () => get(`http:\\\\${on}/`)],
    ['a fragment', () => get(`http://${on}#@evil.test/`)],
    ['a fragment behind the path', () => get(`http://${on}/a#b`)],
    ['one slash', () => get(`http:/${on}/`)],
    ['three slashes', () => get(`http:///${on}/`)],
    ['no scheme', () => get(`//${on}/`)],
    ['https to the proxy', () => get(`https://open.test:${net.https}/`)],
    ['another scheme', () => get(`ftp://${on}/`)],
    ['the origin form to the proxy', () => get('/')],
    ['the asterisk form', () => `OPTIONS * HTTP/1.1\r\nHost: ${on}\r\n\r\n`],
    ['a dot at the end', () => get(`http://open.test.:${net.http}/`, `open.test.:${net.http}`)],
    ['wide letters', () => get(`http://\xef\xbd\x8fpen.test:${net.http}/`)],
    ['letters outside of ASCII', () => get(`http://b\xc3\xbccher.test:${net.http}/`)],
    ['a soft hyphen', () => get(`http://op\xc2\xaden.test:${net.http}/`)],
    ['an address in another notation', () => get(`http://2130706433:${net.http}/`, `2130706433:${net.http}`)],
    ['an address in octal digits', () => get(`http://0177.0.0.1:${net.http}/`, `0177.0.0.1:${net.http}`)],
    ['an address in fewer parts', () => get(`http://127.1:${net.http}/`, `127.1:${net.http}`)],
    ['an address of version 6 that stands for one of version 4', () => get(`http://[::ffff:127.0.0.1]:${net.http}/`, `[::ffff:127.0.0.1]:${net.http}`)],
    ['an address with a zone', () => get(`http://[fe80::1%25lo]:${net.http}/`, `[fe80::1%25lo]:${net.http}`)],
    ['no port', () => get(`http://open.test:/`)],
    ['a port with a sign', () => get(`http://open.test:+${net.http}/`)],
    ['two ports', () => get(`http://open.test:80:${net.http}/`)],
    ['a host that differs from the target', () => get(`http://${on}/`, 'evil.test')],
    ['a host with user information', () => get(`http://${on}/`, `x@${on}`)],
    ['a host with white space', () => get(`http://${on}/`, `${on} evil.test`)],
    ['a host list', () => get(`http://${on}/`, `${on}, evil.test`)],
    ['an empty host', () => get(`http://${on}/`, '')],
    ['a tab in the first line', () => `GET\thttp://${on}/ HTTP/1.1\r\nHost: ${on}\r\n\r\n`],
    ['white space in the target', () => get(`http://${on}/a b`)],
    ['another version', () => `GET http://${on}/ HTTP/1.2\r\nHost: ${on}\r\n\r\n`],
    ['a version in small letters', () => `GET http://${on}/ http/1.1\r\nHost: ${on}\r\n\r\n`],
    ['a method with odd letters', () => `G@T{} http://${on}/ HTTP/1.1\r\nHost: ${on}\r\n\r\n`],
    ['a header of a megabyte', () => get(`http://${on}/`, on, `X-A: ${'a'.repeat(1 << 20)}\r\n`)],
    ['a target of a megabyte', () => get(`http://${on}/${'a'.repeat(1 << 20)}`)],
    ['very many headers', () => get(`http://${on}/`, on, 'X-A: 1\r\n'.repeat(20_000))],
    ['a coding after chunked', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked, identity\r\n') + '0\r\n\r\n'],
    ['a coding in quotes', () => get(`http://${on}/`, on, 'Transfer-Encoding: "chunked"\r\n') + '0\r\n\r\n'],
    ['an empty coding beside chunked', () => get(`http://${on}/`, on, 'Transfer-Encoding: ,chunked\r\n') + '0\r\n\r\n'],
    ['a parameter of chunked', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked;q=1\r\n') + '0\r\n\r\n'],
    ['a chunk size with white space', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked\r\n') + '0 \r\n\r\n'],
    ['a chunk size with a sign', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked\r\n') + '+0\r\n\r\n'],
    ['a chunk size with 0x', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked\r\n') + '0x0\r\n\r\n'],
    ['trailers that frame', () => get(`http://${on}/`, on, 'Transfer-Encoding: chunked\r\n') + '0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a method of its own for a body that is not announced', () => `${get(`http://${on}/`)}\x00`],
  ])('%s', async (what, bytes) => {
    const answer = await proxy.speak(bytes() + NEXT());
    const sent = net.seen.map(({ url }) => url);
    if (what.startsWith('a method of its own')) {
      expect(sent).toEqual(['/']);
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
      return;
    }
    expect(sent).toEqual([]);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(answer.match(/HTTP\/1\.1 \d\d\d /g)).toHaveLength(1);
  });
});

test.each<[string, () => string, string]>([
  ['letters of any case', () => get(`HTTP://OPEN.test:${net.http}/Path?Q`, `Open.Test:${net.http}`), '/Path?Q'],
  ['a name in Punycode', () => get(`http://XN--bcher-KVA.test:${net.http}/`, `xn--bcher-kva.test:${net.http}`), '/'],
  ['a path that is only a query', () => get(`http://${on}?a=http://evil.test/`), '/?a=http://evil.test/'],
  ['a path like another address', () => get(`http://${on}//evil.test/`), '//evil.test/'],
  ['a path with dots', () => get(`http://${on}/../a/./b`), '/../a/./b'],
])('%s pass, as they are and once', async (_what, bytes, path) => {
  const answer = await proxy.speak(bytes());
  expect(net.seen.map(({ url }) => url)).toEqual([path]);
  expect(answer).toContain(`seen ${path}`);
});

test('HTTP/1.0 is answered once and ends, whatever it says of keeping the connection', async () => {
  const answer = await proxy.speak(`GET http://${on}/old HTTP/1.0\r\nHost: ${on}\r\nConnection: keep-alive\r\nProxy-Connection: keep-alive\r\n\r\n${NEXT()}`);
  expect(net.seen.map(({ url }) => url)).toEqual(['/old']);
  expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
  expect(net.seen[0]?.headers).not.toHaveProperty('proxy-connection');
});

test('headers for the proxy go no further', async () => {
  await proxy.speak(
    get(`http://${on}/`, on, 'Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: close\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: X-A\r\n'),
  );
  expect(Object.keys(net.seen[0]?.headers ?? {}).toSorted()).toEqual(['connection', 'host']);
});

describe('what follows at once', () => {
  test('behind an upgrade that the host does not make is the next request, and behind one that is not offered too', async () => {
    const upgrade = get(
      `http://${on}/ws`,
      on,
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    );
    const answer = await proxy.speak(upgrade + NEXT());
    const statuses = answer.match(/HTTP\/1\.1 \d\d\d/g) ?? [];
    expect(statuses).not.toContain('HTTP/1.1 101');
    expect(net.seen.map(({ url }) => url)).toEqual(statuses.length === 2 ? ['/ws', '/smuggled'] : ['/ws']);
  });

  test('behind a CONNECT is judged as what is spoken in the tunnel', async () => {
    const inner = `GET /inner HTTP/1.1\r\nHost: ${on}\r\n\r\n`;
    const answer = await proxy.speak(`CONNECT ${on} HTTP/1.1\r\nHost: ${on}\r\n\r\n${inner}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(net.seen.map(({ url }) => url)).toEqual(['/inner']);
    net.seen.length = 0;
    expect(await proxy.speak(`CONNECT ${on} HTTP/1.1\r\nHost: ${on}\r\n\r\n${NEXT()}`)).toContain('400 Bad Request');
    for (const body of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Content-Length: 0'])
      expect(await proxy.speak(`CONNECT ${on} HTTP/1.1\r\nHost: ${on}\r\n${body}\r\n\r\n${inner}`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(net.seen).toEqual([]);
  });

  test('in a tunnel, another CONNECT opens nothing', async () => {
    const inside = await proxy.tunnel(on);
    const all = everything(inside);
    inside.end(`CONNECT ${on} HTTP/1.1\r\nHost: ${on}\r\n\r\nGET / HTTP/1.1\r\nHost: ${on}\r\n\r\n`);
    expect(await all).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(net.seen).toEqual([]);
  });
});

test('a name that leads to private addresses, now or at its second answer, is refused, and only what was checked is connected to', async () => {
  let asked = 0;
  const answers = [['93.184.216.34'], ['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::1'], ['169.254.169.254'], ['::ffff:10.0.0.1'], []];
  const policy = createAddressPolicy({ resolve: async () => answers[asked++] ?? [] });
  const verdicts: unknown[] = [];
  for (const _answer of answers) verdicts.push(await judgeConnection(['rebind.test'], { host: 'rebind.test', port: 443 }, policy));
  expect(verdicts[0]).toMatchObject({ allowed: true, addresses: ['93.184.216.34'] });
  for (const verdict of verdicts.slice(1)) expect(verdict).toMatchObject({ allowed: false });
  expect(asked).toBe(answers.length);
});
