import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from '../sandbox/support.ts';
import { hostAsk, serveHosts, type Told } from './support.ts';

const PORT = 3000;
let service: SandboxService;
beforeAll(async () => {
  service = await openSandboxService();
  const program = await readFile(new URL('guest-server.py', import.meta.url));
  expect((await service.ask('/files/server.py', { method: 'PUT', body: program })).status).toBe(200);
  await listen(`exec python3 server.py ${PORT}`);
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
}, 180_000);

/** Starts a server in the sandbox, and waits until it listens. */
async function listen(command: string, port = PORT): Promise<void> {
  const body = JSON.stringify({ command, timeoutMs: 0 });
  expect((await service.ask('/commands', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status).toBe(202);
  await until(async () => (await ask('ready', {}, port)).status === 200, 'the server listens');
}

const ask = (path: string, init: RequestInit = {}, port = PORT) => service.ask(`/ports/${port}/${path}`, { redirect: 'manual', ...init });
const codeOf = async (answer: Response) => (await problemOf(answer)).slice(0, 2);
const problemOf = async (answer: Response) => {
  const { code, detail } = (await answer.json()) as { code: string; detail: string };
  return [answer.status, code, detail];
};

test('requests of all methods reach a server in a sandbox, with their bodies, and its answers come back', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'GET' || method === 'OPTIONS' ? null : randomBytes(300_000);
    const answer = await ask('a%2Fb/../c?x=1&x=%20', { method, body });
    const told = (await answer.json()) as Told;
    const sha = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    expect([answer.status, told]).toEqual([200, expect.objectContaining({ method, path: '/c?x=1&x=%20', size: body?.length ?? 0, sha })]);
  }
  const head = await ask('x', { method: 'HEAD' });
  expect([head.status, Number(head.headers.get('content-length')) > 0, await head.text()]).toEqual([200, true, '']);
});

test('a request that names its address as a whole reaches the path in it', async () => {
  const { hostname, port } = new URL(service.server.url);
  const path = `${service.server.url}/v1/conversations/${service.id}/ports/${PORT}/deep/path?x=1`;
  const sent = request({ hostname, port, path, headers: await service.key(['ports:connect'], 'north') }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(JSON.parse(await text(answer))).toMatchObject({ path: '/deep/path?x=1' });
});

test('a server of the standard library of Python is reached; a big answer comes whole', async () => {
  const bytes = randomBytes(20_000_000);
  await service.ask('/files/www/big.bin', { method: 'PUT', body: bytes });
  await service.ask('/files/www/ready', { method: 'PUT', body: 'yes' });
  await listen('exec python3 -m http.server 8000 --bind 127.0.0.1 --directory www', 8000);
  expect(Buffer.from(await (await ask('big.bin', {}, 8000)).arrayBuffer()).equals(bytes)).toBe(true);
  expect((await ask('none', {}, 8000)).status).toBe(404);
}, 60_000);

test('a server learns nothing of the key, the cookies and the ways of its caller', async () => {
  const sent = {
    cookie: 'session=1; guest-own=2; guest-=; other',
    'x-forwarded-for': '10.0.0.1',
    'cf-access-jwt-assertion': 'secret',
    'x-amzn-oidc-data': 'secret',
    'proxy-authorization': 'secret',
    'x-hop': 'secret',
    connection: 'x-hop',
    referer: 'https://a.example/secret',
    'idempotency-key': 'k',
    accept: 'text/x',
    'user-agent': 'me',
  };
  const { headers } = await rawAsk(`${service.server.url}/v1/conversations/${service.id}/ports/${PORT}/x`, sent);
  expect(headers).toEqual({
    host: `localhost:${PORT}`,
    connection: 'close',
    cookie: 'own=2; =',
    'idempotency-key': 'k',
    accept: 'text/x',
    'user-agent': 'me',
  });
});

/** What the server was told; `fetch` would not send all of these headers. */
async function rawAsk(url: string, headers: Record<string, string>): Promise<Told> {
  const own = await service.key(['ports:connect'], 'north');
  const sent = request(url, { headers: { ...own, ...headers } }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return JSON.parse(await text(answer)) as Told;
}

test('an answer has no effect beyond itself: no cookie of the service, no origin, no header for browsers or proxies', async () => {
  const prefix = `/v1/conversations/${service.id}/ports/${PORT}`;
  const cookies = await ask('cookies');
  expect(cookies.headers.getSetCookie()).toEqual([`guest-sid=1; HttpOnly; Path=${prefix}/app`, `guest-__Host-other=2; Path=${prefix}/`]);
  const { headers } = await ask('headers-of-guest');
  expect(Object.fromEntries(headers)).toEqual({
    'cache-control': 'private, no-cache',
    connection: 'keep-alive',
    'content-length': '0',
    'content-security-policy': "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads allow-pointer-lock, default-src 'self'",
    date: expect.any(String) as string,
    'keep-alive': expect.any(String) as string,
    'referrer-policy': 'no-referrer',
    'x-own': '1, 2',
    'x-robots-tag': 'noindex, nofollow',
  });
  expect((await ask('redirect')).headers.get('location')).toBe(`${prefix}/there?x=1`);
});

test('an answer that is none, is too long or ends early is an error, or is broken off', async () => {
  const failed = (problem: string) => [502, 'PORT_FAILED', expect.stringContaining(`gives no answer that can be passed on: ${problem}`) as string];
  expect(await problemOf(await ask('garbage'))).toEqual(failed('it is no HTTP/1.1'));
  expect(await problemOf(await ask('smuggled'))).toEqual(failed('it is no HTTP/1.1'));
  expect(await problemOf(await ask('long-head'))).toEqual(failed('its head has more than 16384 bytes'));
  expect(await problemOf(await ask('no-answer'))).toEqual(failed('it closed the connection'));
  await expect((await ask('half')).text()).rejects.toThrow('terminated');
  expect(await (await ask('two')).text()).toBe('one');
  const closed = [
    502,
    'PORT_CLOSED',
    expect.stringMatching(/^No connection to port 4999 of sandbox "sbx_\w+": nothing listens there\. Start a server/) as string,
  ];
  expect(await problemOf(await ask('x', {}, 4999))).toEqual(closed);
  for (const port of ['0', '65536', '-1', '1e3', '%20', '080a']) {
    expect((await problemOf(await service.ask(`/ports/${port}/x`))).slice(0, 2)).toEqual([400, 'INVALID_ARGUMENT']);
  }
});

test('a WebSocket is passed in both directions; who is refused gets an answer of HTTP', async () => {
  const own = await service.key(['ports:connect'], 'north');
  const url = `${service.server.url.replace('http', 'ws')}/v1/conversations/${service.id}/ports/${PORT}`;
  const socket = new WebSocket(`${url}/socket`, { headers: own });
  await once(socket, 'open');
  for (const message of ['ahoy', 'x'.repeat(50_000)]) {
    socket.send(message);
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(data.toString()).toBe(message);
  }
  socket.close();
  await once(socket, 'close');
  const refusal = async (path: string, headers: Record<string, string>) => {
    const refused = new WebSocket(url + path, { headers });
    refused.on('error', () => undefined);
    const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
    await text(answer);
    return answer.statusCode;
  };
  expect(await refusal('/socket', {})).toBe(401);
  expect(await refusal('/socket', await service.key(['ports:connect'], 'south'))).toBe(404);
  expect(await refusal('/elsewhere', own)).toBe(200);
  expect(await refusal('/garbage', own)).toBe(502);
  // What does not take the connection answers as without the wish, also one for another protocol.
  for (const upgrade of ['websocket', 'h2c']) {
    const sent = request(`${service.server.url}/healthz`, {
      headers: { connection: 'Upgrade', upgrade, 'sec-websocket-key': 'x', 'sec-websocket-version': '13' },
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect([upgrade, answer.statusCode, await text(answer)]).toEqual([upgrade, 200, expect.stringContaining('ok')]);
  }
});

test('a link shows a port to a browser: below a secret path, whose pages have no origin', async () => {
  const made = await service.ask('/previews', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ port: PORT, expiresIn: '5m' }),
  });
  const { url } = (await made.json()) as { url: string };
  expect([made.status, url.replace(/lsp_\w+/, '<token>')]).toEqual([201, `${service.server.url}/previews/<token>/`]);
  const answer = await fetch(`${url}page?x=1`, { method: 'POST', headers: { origin: 'null', cookie: 'guest-sid=1; other=2' }, body: 'x' });
  expect(((await answer.json()) as Told).headers).toMatchObject({ origin: `http://localhost:${PORT}`, cookie: 'sid=1', host: `localhost:${PORT}` });
  expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox allow-scripts(?!.*allow-same-origin)/);
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect((await fetch(`${url}cookies`)).headers.getSetCookie()[0]).toBe(`guest-sid=1; HttpOnly; Path=${new URL(url).pathname}app`);
  expect((await fetch(url, { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT' } })).status).toBe(204);
  const socket = new WebSocket(`${url.replace('http', 'ws')}socket`, { origin: 'null' });
  await once(socket, 'open');
  const [token = ''] = /lsp_\w+/.exec(url) ?? [];
  for (const other of [url.replace(/.\/$/, '/'), url.replace(/lsp_\w+/, 'lsp_none'), url.replace('lsp_', '%6Csp_')]) {
    const refused = await fetch(other);
    expect([refused.status, refused.headers.get('x-longshore-error'), refused.headers.get('content-type')]).toEqual([
      410,
      'LINK_ENDED',
      'text/html; charset=utf-8',
    ]);
    // A preview may be shown in a frame, and so may what says why it is not.
    expect([refused.headers.get('x-frame-options'), refused.headers.get('content-security-policy')]).toEqual([
      null,
      expect.stringMatching(/^default-src 'none';(?!.*frame-ancestors)/),
    ]);
    expect(await refused.text()).toContain('<p>This link is not valid, or has ended. Ask its sender for a new one.</p>');
  }
  expect(JSON.stringify(await service.installation.longshore.audit.list({ action: 'preview.create' }))).not.toContain(token.slice(17));
  expect((await service.ask('/previews', { method: 'DELETE' })).status).toBe(204);
  expect((await fetch(url)).status).toBe(410);
  socket.close();
  for (const body of [
    {},
    { port: 0 },
    { port: 65_536 },
    { port: '3000' },
    { port: PORT, expiresIn: '25h' },
    { port: PORT, expiresIn: '1s' },
    { port: PORT, x: 1 },
  ]) {
    const wrong = await service.ask('/previews', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    expect([body, wrong.status]).toEqual([body, 400]);
  }
});

test('with hosts for previews, each port has one of its own, on which nothing else of the service answers', async () => {
  await using server = await serveHosts(service.installation);
  const make = async (port: number) => {
    const headers = { ...(await service.key(['ports:connect'], 'north')), 'content-type': 'application/json' };
    const made = await fetch(`${server.url}/v1/conversations/${service.id}/previews`, { method: 'POST', headers, body: JSON.stringify({ port }) });
    return new URL(((await made.json()) as { url: string }).url);
  };
  const [link, other] = [await make(PORT), await make(8000)];
  expect(link.origin).toMatch(/^http:\/\/p-[0-9a-f]{32}\.previews\.localhost$/);
  expect(link.origin).not.toBe(other.origin);
  const at = (host: string, path: string, headers: Record<string, string> = {}, method = 'GET') => hostAsk(server.url, { host, path, headers, method });
  const opened = await at(link.host, link.pathname);
  expect([opened.status, opened.headers['location']]).toEqual([303, '/']);
  expect(opened.headers['set-cookie']?.[0]).toMatch(
    /^__Host-longshore-preview=lsp_\w+; Path=\/; Max-Age=3[56]\d\d; Secure; HttpOnly; SameSite=None; Partitioned$/,
  );
  const cookie = opened.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
  const shown = await at(link.host, '/v1/keys?x', { cookie: `${cookie}; __Host-guest-sid=1; a=2`, origin: link.origin }, 'POST');
  expect(JSON.parse(shown.body)).toMatchObject({ path: '/v1/keys?x', headers: { cookie: 'sid=1', origin: `http://localhost:${PORT}` } });
  expect(shown.headers['content-security-policy']).toBeUndefined();
  expect((await at(link.host, '/cookies', { cookie })).headers['set-cookie']?.[0]).toBe('__Host-guest-sid=1; HttpOnly; Path=/; Secure');
  // Other hosts: the cookie opens nothing there. The service's own routes: on no host of previews, with or without a dot, in any case.
  for (const host of [other.host, `x.${link.host}`, 'previews.localhost', `${link.host.toUpperCase()}.:80`.replace('P-', 'p-0')]) {
    const refused = await at(host, '/v1/keys', { cookie });
    expect([host, refused.status, refused.headers['x-longshore-error']]).toEqual([host, 410, 'LINK_ENDED']);
  }
  expect((await at(`${link.host.toUpperCase()}.:80`, '/x', { cookie })).status).toBe(200);
  expect((await at('localhost', '/.longshore/preview-host/x', { cookie })).status).toBe(404);
  expect((await at('localhost', link.pathname.replace('/.longshore/preview', '/previews').concat('/'))).status).toBe(404);
  // What other pages make a browser send.
  const foreign: [string, Record<string, string>, number][] = [
    ['POST', { origin: other.origin }, 403],
    ['POST', { origin: 'null' }, 403],
    ['GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, 403],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
    ['POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 403],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 200],
    ['GET', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, 200],
  ];
  for (const [method, headers, status] of foreign)
    expect([headers, (await at(link.host, '/x', { cookie, ...headers }, method)).status]).toEqual([headers, status]);
  const open = async (origin: string) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/socket`, { origin, headers: { host: link.host, cookie } });
    socket.on('error', () => undefined);
    const opens = await Promise.race([once(socket, 'open').then(() => true), once(socket, 'unexpected-response').then(() => false)]);
    socket.terminate();
    return opens;
  };
  expect([await open(link.origin), await open(other.origin), await open('null')]).toEqual([true, false, false]);
}, 60_000);

test('ports are for keys with their scope, of the same tenant, and for conversations that have a sandbox', async () => {
  const { id, server, installation } = service;
  const url = `${server.url}/v1/conversations/${id}/ports/${PORT}/x`;
  expect(await codeOf(await fetch(url))).toEqual([401, 'UNAUTHENTICATED']);
  expect(await codeOf(await fetch(url, { headers: await service.key(['sandbox:exec', 'files:read'], 'north') }))).toEqual([403, 'SCOPE_MISSING']);
  expect(await codeOf(await fetch(url, { headers: await service.key(['ports:connect'], 'south') }))).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  const { id: bare } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north' });
  expect(await codeOf(await fetch(url.replace(id, bare), { headers: await service.key(['ports:connect'], 'north') }))).toEqual([404, 'SANDBOX_ABSENT']);
  await installation.longshore.close(bare);
});

test('a server that is killed in the middle of its answer breaks the answer off', async () => {
  const answer = await ask('killed');
  expect(answer.status).toBe(200);
  await expect(answer.text()).rejects.toThrow('terminated');
  await until(async () => (await problemOf(await ask('x')))[1] === 'PORT_CLOSED', 'nothing listens any more');
});
