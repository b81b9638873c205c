import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { deferred } from '../../src/common/deferred.ts';
import { createAddressPolicy, oddityOfHost } from '../../src/network/address-policy.ts';
import { createGuardedFetch, type GuardedFetchOptions } from '../../src/network/guarded-fetch.ts';

const NOT_PUBLIC = [
  ['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200', '100.127.255.255', '127.0.0.1', '127.8.8.8', '169.254.0.1'],
  ['169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.168.0.1', '192.168.255.255'],
  ['198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '168.63.129.16'],
  ['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1'],
  ['64:ff9b::7f00:1', '64:ff9b:1::a00:1', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '2002:a00:1::1', 'fc00::1', 'fd00::1', 'fd00:ec2::254'],
  ['fe80::1', 'febf::1', 'fec0::1', 'ff02::1', 'ff0e::1', 'fe80::1%lo', '4000::1', '', 'localhost', '127.1', '0x7f.1'],
  ['2001:2::1', '2001:10::1', '2001:20::1', '3fff::1', '5f00::1', '192.88.99.1', '2a00:1::5efe:10.0.0.1', '2a00:1::200:5efe:7f00:1'],
].flat();

test('only public unicast addresses may be reached', () => {
  const { refusalOf } = createAddressPolicy();
  expect(NOT_PUBLIC.filter((address) => refusalOf(address) === undefined)).toEqual([]);
  expect(['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700:4700::1111', '2a00:1450:4001::1', '2a00:1::100:5efe:a00:1'].map(refusalOf)).toEqual(
    Array(6).fill(undefined),
  );
});

test('an operator may add addresses, and only these are added', () => {
  const { refusalOf } = createAddressPolicy({ allowAddresses: ['127.0.0.1', '10.1.0.0/16'] });
  expect(['127.0.0.1', '10.1.200.3'].map(refusalOf)).toEqual([undefined, undefined]);
  expect(['127.0.0.2', '10.2.0.1', '::ffff:127.0.0.1', '::1'].every((address) => refusalOf(address) !== undefined)).toBe(true);
});

test('host names in odd forms are refused', () => {
  const odd = [
    'a.example.',
    'A.example',
    'a..example',
    '',
    'a\0.example',
    'a b',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '127.1',
    '0177.0.0.1',
    'a_%',
    'ä.example',
  ];
  expect(odd.filter((host) => oddityOfHost(host) === undefined)).toEqual([]);
  expect(['a.example', 'x-1.b.example', 'localhost', '127.0.0.1', '::1', 'xn--4ca.example'].map(oddityOfHost)).toEqual(Array(6).fill(undefined));
});

describe('requests', () => {
  let server: Server;
  let port: number;
  let seen: IncomingMessage[];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const disposers: AsyncDisposable[] = [];

  beforeEach(async () => {
    seen = [];
    answer = (_request, response) => response.end('inside');
    server = createServer((request, response) => {
      seen.push(request);
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    for (const each of disposers.splice(0)) await each[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** `good.example` and `other.example` are the test's server, which the operator allows. */
  function guarded(options: Partial<GuardedFetchOptions> = {}) {
    const made = createGuardedFetch({ hosts: ['good.example'], resolve: async () => ['127.0.0.1'], allowAddresses: ['127.0.0.1'], ...options });
    disposers.push(made);
    return made.fetch;
  }

  test('a listed host is reached, with method, headers and body', async () => {
    answer = (request, response) => request.pipe(response.setHeader('x-method', String(request.method)));
    const response = await guarded()(`http://good.example:${port}/path`, { method: 'post', body: 'hello', headers: { 'x-own': 'yes' } });
    expect([response.status, await response.text(), response.headers.get('x-method'), response.url]).toEqual([
      200,
      'hello',
      'POST',
      `http://good.example:${port}/path`,
    ]);
    expect(seen[0]!.headers).toMatchObject({ host: `good.example:${port}`, 'x-own': 'yes', 'content-type': 'text/plain;charset=UTF-8' });
  });

  test('of the answers that are large only some are in memory at a time, and small ones do not wait for them', async () => {
    const release = deferred<undefined>();
    let written = 0;
    const first = deferred<undefined>();
    answer = (request, response) => {
      if (request.url === '/small') return response.end('small');
      return response.write(Buffer.alloc(40_000_000), () => {
        written += 1;
        first.resolve(undefined);
        void release.promise.then(() => response.end());
      });
    };
    const fetch = guarded({ largeAtOnce: 1, maxBytes: 50_000_000 });
    const large = Promise.all([1, 2].map(async () => (await (await fetch(`http://good.example:${port}/large`)).arrayBuffer()).byteLength));
    large.catch(() => undefined);
    await first.promise;
    // One after the other, which takes longer than the second large one would.
    for (let asked = 0; asked < 300; asked += 1) expect(await (await fetch(`http://good.example:${port}/small`)).text()).toBe('small');
    expect(written).toBe(1);
    release.resolve(undefined);
    expect(await large).toEqual([40_000_000, 40_000_000]);
  });

  test.each(['read', 'dropped'] as const)('an answer whose status no response can have is a failed request (%s)', async (answers) => {
    answer = (_request, response) => response.socket!.end('HTTP/1.1 999 Go away\r\ncontent-length: 2\r\n\r\nno');
    const problem = 'its answer has the status 999, which HTTP does not have';
    await expect(guarded({ answers })(`http://good.example:${port}/`)).rejects.toMatchObject({ code: 'NETWORK_FAILED', values: { problem } });
  });

  test('a host that is listed with capitals is the same host', async () => {
    answer = (_request, response) => response.end('hello');
    expect((await guarded({ hosts: [`Good.Example:${port}`] })(`http://GOOD.example:${port}/`)).status).toBe(200);
  });

  test('what is not listed, not http or written oddly is refused before anything is sent', async () => {
    const fetch = guarded({ hosts: ['good.example', '127.0.0.1', 'good.example:9', '169.254.169.254', '[::1]'], allowAddresses: [] });
    const refusedUrls = [
      ['http://evil.example/', 'http://sub.good.example/', 'http://good.example.evil.example/', 'http://evilgood.example/', 'http://good.example./'],
      ['http://GOOD.example@evil.example/', 'http://user:pass@good.example/', 'http://good.example\\@evil.example/'],
      [
        'file:///etc/passwd',
        'ftp://good.example/',
        'data:text/plain,x',
        'gopher://good.example/',
        'javascript:1',
        '//good.example/',
        '/path',
        '',
        'http:good.example',
      ],
      ['http://2130706433/', 'http://0x7f000001/', 'http://017700000001/', 'http://127.1/', 'http://0177.0.0.1/', 'http://127.0.0.1./', 'http://①②⑦.0.0.1/'],
      ['http://good%2eexample/', 'http://good。example/', 'http://good\t.example/', 'http://good.example\0/', ' http://good.example/', 'http://ä.example/'],
      [`http://127.0.0.1:${port}/`, 'http://169.254.169.254/latest/meta-data/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://[fe80::1%25lo]/'],
      ['http://localhost/', 'http://0/', 'http://[::]/', 'http://metadata.google.internal/'],
    ].flat();
    const outcomes = await Promise.all(
      refusedUrls.map((url) =>
        fetch(url).then(
          () => `${url} was fetched`,
          (error: { code: string }) => error.code,
        ),
      ),
    );
    expect(outcomes).toEqual(refusedUrls.map(() => 'NETWORK_REFUSED'));
    expect(seen).toEqual([]);
    await expect(fetch('http://evil.example/')).rejects.toThrow(
      'Request to "evil.example" refused: only these hosts are allowed: good.example, 127.0.0.1, good.example:9, 169.254.169.254, [::1]',
    );
  });

  test('a listed name with one address that is not public is refused', async () => {
    for (const address of NOT_PUBLIC.filter((address) => isIP(address) !== 0 && !address.includes('%'))) {
      const fetch = guarded({ allowAddresses: [], resolve: async () => ['8.8.8.8', address] });
      await expect(fetch('http://good.example/')).rejects.toThrow(`Request to "good.example" refused: it resolves to ${address}, which is`);
    }
  });

  test('a refusal names the setting in which an operator can allow more, except for cloud metadata', async () => {
    const refusalOf = (address: string) => guarded({ allowAddresses: [], setting: 'MORE', resolve: async () => [address] })('http://good.example/');
    await expect(refusalOf('10.0.0.1')).rejects.toThrow('it resolves to 10.0.0.1, which is not public (private); an operator can allow it in MORE');
    await expect(refusalOf('168.63.129.16')).rejects.toThrow(/which is an address of cloud metadata$/);
  });

  test('a rebinding resolver gains nothing: each connection goes where its own check went', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['10.0.0.1']];
    const fetch = guarded({ resolve: async () => answers.shift() ?? [] });
    answer = (_request, response) => response.setHeader('connection', 'close').end('good');
    expect(await (await fetch(`http://good.example:${port}/`)).text()).toBe('good');
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow('it resolves to 127.0.0.2, which is not public (loopback)');
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow('it resolves to 10.0.0.1, which is not public (private)');
    await expect(fetch(`http://good.example:${port}/`)).rejects.toMatchObject({ code: 'NETWORK_FAILED' });
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['http://evil.example/', 'only these hosts are allowed'],
    ['http://169.254.169.254/latest/', 'only these hosts are allowed'],
    ['file:///etc/passwd', 'only http and https are allowed'],
    ['http://user:pass@good.example/', 'credentials in URLs are not accepted'],
    ['http://listed-but-private.example/', 'it resolves to 10.0.0.7, which is not public (private)'],
    ['http://[', 'it redirects to something that is not a URL'],
  ])('a redirect to %s is refused', async (location, problem) => {
    answer = (_request, response) => response.writeHead(302, { location }).end();
    const resolve = async (host: string) => [host.startsWith('listed') ? '10.0.0.7' : '127.0.0.1'];
    const fetch = guarded({ hosts: ['good.example', 'listed-but-private.example'], resolve });
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow(problem);
    expect(seen).toHaveLength(1);
  });

  test('a redirect to any address that is not public is refused, written out or behind a listed name', async () => {
    const addresses = NOT_PUBLIC.filter((address) => isIP(address) !== 0 && !address.includes('%'));
    const hosts = addresses.map((address) => new URL(address.includes(':') ? `http://[${address}]/` : `http://${address}/`).host);
    let location = '';
    let resolved = '';
    answer = (_request, response) => response.writeHead(302, { location }).end();
    const resolve = async (host: string) => [host === 'listed.example' ? resolved : '127.0.0.1'];
    // The server of the test is at the one address that may be redirected to.
    const fetch = guarded({ hosts: ['good.example', 'listed.example', ...hosts], resolve });
    const outcomes: unknown[] = [];
    for (const [index, address] of addresses.entries()) {
      if (address === '127.0.0.1') continue;
      resolved = address;
      for (const target of [`http://${hosts[index]}/`, 'http://listed.example/']) {
        location = target;
        await fetch(`http://good.example:${port}/`).catch(({ code, message }: Error & { code: string }) =>
          outcomes.push(code === 'NETWORK_REFUSED' || message),
        );
      }
    }
    expect(outcomes).toEqual(Array(2 * (addresses.length - 1)).fill(true));
    expect(seen).toHaveLength(outcomes.length);
  });

  test('a rebinding resolver that changes its mind at a redirect gains nothing', async () => {
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const fetch = guarded({ resolve: async () => answers.shift() ?? [] });
    answer = (_request, response) => response.writeHead(302, { location: '/again', connection: 'close' }).end();
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow('it resolves to 169.254.169.254, which is not public (linkLocal)');
    expect(seen).toHaveLength(1);
  });

  test('redirects are followed within the list, without credentials to another origin and without a body after 303; the sixth is refused', async () => {
    const fetch = guarded({ hosts: ['good.example', 'other.example'] });
    answer = ({ url }, response) => {
      if (url === '/start') return response.writeHead(303, { location: `http://other.example:${port}/end` }).end();
      if (url === '/round') return response.writeHead(302, { location: '/round' }).end();
      return response.end('end');
    };
    const init = { method: 'POST', body: 'secret', headers: { authorization: 'Bearer x', cookie: 'a=b', 'x-own': 'stays' } };
    const response = await fetch(`http://good.example:${port}/start`, init);
    expect([await response.text(), response.redirected, response.url]).toEqual(['end', true, `http://other.example:${port}/end`]);
    expect(seen[1]!.method).toBe('GET');
    expect(seen[1]!.headers).toMatchObject({ 'x-own': 'stays', host: `other.example:${port}` });
    expect(Object.keys(seen[1]!.headers)).not.toEqual(expect.arrayContaining(['authorization']));
    expect(Object.keys(seen[1]!.headers)).not.toEqual(expect.arrayContaining(['cookie']));
    await expect(fetch(`http://good.example:${port}/round`)).rejects.toThrow('more than 5 redirects');
    expect((await fetch(`http://good.example:${port}/round`, { redirect: 'manual' })).status).toBe(302);
    await expect(fetch(`http://good.example:${port}/round`, { redirect: 'error' })).rejects.toThrow('does not allow redirects');
  });

  test('a body that is too long, also one that only unpacks to it, and an answer that does not end are cut', async () => {
    const fetch = guarded({ maxBytes: 1000, timeoutMs: 500 });
    answer = (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('x'.repeat(100_000)));
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow('its answer has more than 1000 bytes');
    await expect(fetch(`http://good.example:${port}/`, { method: 'POST', body: 'x'.repeat(1001) })).rejects.toThrow('the body has 1001 bytes');
    answer = (_request, response) => void response.write('never');
    await expect(fetch(`http://good.example:${port}/`)).rejects.toThrow(`Request to "http://good.example:${port}" failed: no complete answer in time`);
  });

  test('headers that choose another server or frame are refused, and a port of the list is the only one', async () => {
    const fetch = guarded({ hosts: [`good.example:${port}`] });
    for (const name of ['Host', 'connection', 'Transfer-Encoding', 'proxy-authorization', 'upgrade']) {
      await expect(fetch(`http://good.example:${port}/`, { headers: { [name]: 'x' } })).rejects.toThrow(`the header "${name.toLowerCase()}" cannot be set`);
    }
    await expect(fetch(`http://good.example:${port + 1}/`)).rejects.toMatchObject({ code: 'NETWORK_REFUSED' });
    expect((await fetch(`http://good.example:${port}/`)).status).toBe(200);
  });

  test('a caller that aborts gets its abort', async () => {
    const controller = new AbortController();
    answer = () => controller.abort();
    await expect(guarded()(`http://good.example:${port}/`, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});
