import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from 'pg';
import type { Scope } from '../../../src/contracts/api-key.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createDockerSandboxes } from '../../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from './support.ts';

let service: SandboxService;
beforeAll(async () => {
  service = await openSandboxService();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
}, 180_000);

interface Link {
  linkId: string;
  url: string;
  method: string;
  expiresAt: string;
}

const codeOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

async function ask(kind: 'download' | 'upload', body: object, key?: Record<string, string>, id = service.id): Promise<Response> {
  const headers = key ?? (await service.key(['files:read', 'files:write'], 'north'));
  return fetch(`${service.server.url}/v1/conversations/${id}/${kind}-links`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function link(kind: 'download' | 'upload', body: object, key?: Record<string, string>): Promise<Link> {
  const answer = await ask(kind, body, key);
  expect(answer.status).toBe(201);
  return (await answer.json()) as Link;
}

async function sql(text: string, values: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: service.installation.environment['DATABASE_URL'] ?? '' });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function close(id: string): Promise<void> {
  const { longshore } = service.installation;
  await longshore.close(id);
  await until(async () => (await longshore.status(id)).state === 'closed', 'the conversation is closed');
}

const put = (url: string, body: string | Uint8Array) => fetch(url, { method: 'PUT', body });

test('without a key, a file goes up and comes down with links, byte for byte, as a download that no browser shows', async () => {
  const bytes = new Uint8Array(randomBytes(3_000_000));
  const up = await link('upload', { path: 'in/sent.bin' });
  expect(up).toMatchObject({ method: 'PUT', url: expect.stringMatching(/\/files\/upload\/lsf_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/) as string });
  const sent = await put(up.url, bytes);
  expect([sent.status, await sent.json()]).toEqual([200, { size: bytes.length }]);
  const down = await link('download', { path: '/home/user/in/sent.bin' });
  const answer = await fetch(down.url);
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="sent.bin"; filename*=UTF-8''sent.bin`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  });
  const part = await fetch(down.url, { headers: { range: 'bytes=5-8' } });
  expect([part.status, part.headers.get('content-range'), Buffer.from(await part.arrayBuffer()).equals(Buffer.from(bytes.slice(5, 9)))]).toEqual([
    206,
    `bytes 5-8/${bytes.length}`,
    true,
  ]);
  expect(await codeOf(await fetch(down.url, { headers: { range: `bytes=${bytes.length}-` } }))).toEqual([416, 'RANGE_INVALID']);
});

test('a link works again and again, also at the same time, and shows what the file has then', async () => {
  const [up, down] = [await link('upload', { path: 'twice' }), await link('download', { path: 'twice' })];
  expect(await codeOf(await fetch(down.url))).toEqual([404, 'FILE_NOT_FOUND']);
  const texts = ['a', 'b'].map((letter) => letter.repeat(500_000));
  const answers = await Promise.all(texts.map((text) => put(up.url, text)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const read = await Promise.all([1, 2].map(async () => (await fetch(down.url)).text()));
  expect(texts).toContain(read[0]);
  expect(read[1]).toBe(read[0]);
});

test('pages of other origins may use a link', async () => {
  const { url } = await link('upload', { path: 'page' });
  const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' } });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin'), preflight.headers.get('access-control-allow-methods')]).toEqual([
    204,
    '*',
    'GET, PUT',
  ]);
  const refused = await put(url.replace(/.$/, '_'), 'x');
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([410, '*']);
});

test('a link is for one method and one address, and is no key', async () => {
  const [up, down] = [await link('upload', { path: 'bound' }), await link('download', { path: 'made.txt' })];
  const [upToken = '', downToken = ''] = [up.url, down.url].map((url) => url.split('/').at(-1));
  const at = (kind: string, token: string) => `${service.server.url}/files/${kind}/${token}`;
  const last = downToken.endsWith('a') ? 'b' : 'a';
  const crossed = downToken.slice(0, 16) + upToken.slice(16);
  const wrong = [
    'x',
    downToken.slice(0, -1),
    downToken.slice(0, -1) + last,
    crossed,
    downToken.replace('lsf', 'lsl'),
    upToken,
    `${downToken}a`,
    'x'.repeat(250),
  ];
  for (const token of wrong) expect(await codeOf(await fetch(at('download', token)))).toEqual([410, 'LINK_ENDED']);
  for (const token of ['x', downToken, crossed]) expect(await codeOf(await put(at('upload', token), 'x'))).toEqual([410, 'LINK_ENDED']);
  for (const [method, url] of [
    ['PUT', down.url],
    ['DELETE', down.url],
    ['POST', up.url],
    ['GET', up.url],
    ['GET', `${down.url}/made.txt`],
  ] as const) {
    expect([method, ...(await codeOf(await fetch(url, { method, ...(method === 'PUT' && { body: 'x' }) })))]).toEqual([method, 404, 'ROUTE_NOT_FOUND']);
  }
  for (const query of ['?path=/etc/passwd', '?list', '?info', '?maxBytes=9', '?x=']) {
    expect(await codeOf(await fetch(down.url + query))).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await codeOf(await put(up.url + query, 'x'))).toEqual([400, 'INVALID_ARGUMENT']);
  }
  for (const authorization of [`Bearer ${downToken}`, `Bearer ${downToken.replace('lsf', 'lsk')}`]) {
    expect((await fetch(`${service.server.url}/v1/conversations`, { headers: { authorization } })).status).toBe(401);
  }
  expect(await (await fetch(down.url)).text()).toBe('made\n');
});

test('an upload has no more bytes than its link allows, whether it says so before or not', async () => {
  const { url } = await link('upload', { path: 'small', maxBytes: 10 });
  expect(await codeOf(await put(url, '12345678901'))).toEqual([413, 'BODY_TOO_LARGE']);
  const pieces = new ReadableStream({
    start(controller) {
      for (let count = 0; count < 3; count += 1) controller.enqueue(new TextEncoder().encode('12345'));
      controller.close();
    },
  });
  expect(await codeOf(await fetch(url, { method: 'PUT', body: pieces, duplex: 'half' }))).toEqual([413, 'BODY_TOO_LARGE']);
  expect(await codeOf(await fetch((await link('download', { path: 'small' })).url))).toEqual([404, 'FILE_NOT_FOUND']);
  expect((await put(url, '1234567890')).status).toBe(200);
  expect((await put((await link('upload', { path: 'none', maxBytes: 0 })).url, '')).status).toBe(200);
});

test('only who may read or write files makes links, to conversations of the own tenant, for a bounded time', async () => {
  const key = (scopes: Scope[], tenant?: string) => service.key(scopes, tenant);
  expect(await codeOf(await ask('download', { path: 'a' }, await key(['files:write'], 'north')))).toEqual([403, 'SCOPE_MISSING']);
  expect(await codeOf(await ask('upload', { path: 'a' }, await key(['files:read'], 'north')))).toEqual([403, 'SCOPE_MISSING']);
  expect(await codeOf(await ask('download', { path: 'a' }, await key(['admin'], 'south')))).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  for (const expiresIn of ['25h', '59s', 'soon', -1, 0, 1e308])
    expect(await codeOf(await ask('download', { path: 'a', expiresIn }))).toEqual([400, 'INVALID_ARGUMENT']);
  for (const path of ['', 'a\0b', '\ud800', 'x'.repeat(5_000), 7]) expect(await codeOf(await ask('download', { path }))).toEqual([400, 'INVALID_ARGUMENT']);
  for (const maxBytes of [-1, 1.5, 2 ** 40, '10']) expect(await codeOf(await ask('upload', { path: 'a', maxBytes }))).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await codeOf(await ask('download', { path: 'a', maxBytes: 1 }))).toEqual([400, 'INVALID_ARGUMENT']);
  const { expiresAt } = await link('download', { path: 'a' });
  expect(Math.abs(Date.parse(expiresAt) - Date.now() - 900_000)).toBeLessThan(60_000);
  const { id } = await service.installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north' });
  expect(await codeOf(await ask('download', { path: 'a' }, undefined, id))).toEqual([404, 'SANDBOX_ABSENT']);
  await close(id);
  expect(await codeOf(await ask('download', { path: 'a' }, undefined, id))).toEqual([409, 'CONVERSATION_CLOSED']);
});

test('a link ends with its time, and with the key that made it; the secret is not in the database', async () => {
  const ended = async (url: string) => ((await (await fetch(url)).json()) as { detail: string }).detail;
  const late = await link('download', { path: 'made.txt' });
  expect(JSON.stringify(await sql('select * from file_links', []))).not.toContain(late.url.slice(-38, -6));
  await sql("update file_links set expires_at = now() - interval '1 second' where link_id = $1", [late.linkId]);
  expect(await ended(late.url)).toBe('This link has expired. Ask its sender for a new one');
  const key = await service.key(['files:read'], 'north');
  const [, keyId = ''] = key.authorization.split('_');
  const ofKey = await link('download', { path: 'made.txt' }, key);
  expect((await fetch(ofKey.url)).status).toBe(200);
  await service.installation.longshore.keys.revoke(keyId);
  expect(await ended(ofKey.url)).toBe('This link was made with a key that was revoked or has expired. Ask its sender for a new one');
});

test('the audit log has who made a link and each upload with it, and no path; the limits of its key hold', async () => {
  const { linkId, url } = await link('upload', { path: 'secret-name' });
  await put(url, 'x');
  const { entries } = await service.installation.longshore.audit.list({ target: service.id });
  const own = entries.filter(({ details }) => details['linkId'] === linkId);
  expect(own.map(({ action, actor, tenantId }) => [action, actor, tenantId])).toEqual([
    ['link.use', { kind: 'link', id: linkId }, 'north'],
    ['link.create', { kind: 'key', id: expect.any(String) as string }, 'north'],
  ]);
  expect(JSON.stringify(own)).not.toContain('secret-name');
  const key = await service.key(['files:read'], 'west');
  const [, keyId = ''] = key.authorization.split('_');
  const { installation } = service;
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'west', message: 'Make.' });
  await installation.longshore.reply(id);
  await installation.longshore.limits.set({ key: keyId, requestsPerMinute: 3 });
  const made = (await (await ask('download', { path: 'made.txt' }, key, id)).json()) as Link;
  const answers: number[] = [];
  while (!answers.includes(429)) answers.push((await fetch(made.url)).status);
  expect(new Set(answers)).toEqual(new Set([200, 429]));
  await close(id);
}, 60_000);

test('a sender that goes on when its upload is refused is disconnected', async () => {
  const { hostname, port } = new URL(service.server.url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  socket.write('PUT /files/upload/lsf_none HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
  const timer = setInterval(() => socket.write('4\r\nmore\r\n'), 100);
  // What it goes on to send may reset the connection, which is an end as well.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  try {
    expect(String((await once(socket, 'data'))[0])).toContain('410 Gone');
    await closed;
  } finally {
    clearInterval(timer);
  }
}, 60_000);

test('the removal of the sandbox and the end of the conversation end a link', async () => {
  const { installation } = service;
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Make.' });
  await installation.longshore.reply(id);
  const made = (await (await ask('download', { path: 'made.txt' }, undefined, id)).json()) as Link;
  expect(await (await fetch(made.url)).text()).toBe('made\n');
  const { sandboxId = '' } = (await installation.store.sandboxes.ofConversation(id)) ?? {};
  const config = { ...loadConfig(), LONGSHORE_INSTALLATION: installation.name };
  await using visitor = createDockerSandboxes({ config, store: installation.store, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), role: 'visitor' });
  await visitor.destroy(sandboxId);
  const why = async () => ((await (await fetch(made.url)).json()) as { detail: string }).detail;
  expect(await why()).toBe('This link leads to a sandbox that was removed. Ask its sender for a new one');
  await close(id);
  expect(await why()).toBe('This link leads to a conversation that is closed. Ask its sender for a new one');
}, 60_000);
