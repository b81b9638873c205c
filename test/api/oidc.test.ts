import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHmac, randomUUID } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey } from 'jose';
import { loadConfig } from '../../src/platform/config.ts';
import { createOidcVerifier } from '../../src/api/auth/oidc.ts';
import { oidcOptionsOf } from '../../src/api/auth/oidc-options.ts';
import { installAgents, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';

const AUDIENCE = 'longshore';

/** An issuer at an address of this process. */
let issuer: Server;
let url: string;
let keys: { kid: string; privateKey: CryptoKey; publicKey: CryptoKey };
/** What it does: how many times its keys were asked for, and whether it answers. */
let asked = 0;
let isAway = false;
let installation: Installation;
let service: TestApi;

const options = (more: Record<string, string> = {}) => oidcOptionsOf(loadConfig({ LONGSHORE_OIDC_ISSUER: url, LONGSHORE_OIDC_AUDIENCE: AUDIENCE, ...more }));
const newKeys = async (kid: string) => ({ kid, ...(await generateKeyPair('ES256')) });

beforeAll(async () => {
  keys = await newKeys('first');
  issuer = createServer((request, response) => {
    const publish = async () => {
      asked += 1;
      response.end(JSON.stringify({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: keys.kid, alg: 'ES256', use: 'sig' }] }));
    };
    if (isAway) response.writeHead(500).end();
    else if (request.url === '/.well-known/openid-configuration') response.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }));
    else void publish();
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  installation = await installAgents({ scripted: { steps: [{ say: 'Ahoy.' }, { say: 'Ahoy.' }] } });
  await installation.startWorker().ready;
  service = await startApi(installation, {}, { oidc: options() });
}, 180_000);
afterAll(async () => {
  for (const { conversationId, state } of await installation.longshore.list()) if (state !== 'closed') await installation.longshore.close(conversationId);
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  issuer.closeAllConnections();
  issuer.close();
}, 180_000);

const usual = { tenant: 'north', sub: 'ada', scope: 'openid conversations:read conversations:write' };

/** A token of the issuer with these claims in place of the usual ones; undefined leaves one out. */
function tokenOf(claims: Record<string, unknown> = {}, { header = {}, by = keys }: { header?: object; by?: typeof keys } = {}): Promise<string> {
  const payload = Object.fromEntries(Object.entries({ iss: url, aud: AUDIENCE, ...usual, ...claims }).filter(([, value]) => value !== undefined));
  const token = new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: by.kid, ...header });
  return ('exp' in claims ? token : token.setExpirationTime('5m')).sign(by.privateKey);
}

async function ask(
  token: string,
  path = '/v1/conversations',
  init: { method?: string; body?: object } = {},
  at = service,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(at.url + path, {
    method: init.method ?? (init.body ? 'POST' : 'GET'),
    headers: { authorization: `Bearer ${token}`, ...(init.body && { 'content-type': 'application/json' }) },
    ...(init.body && { body: JSON.stringify(init.body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const start = (token: string, body: object = {}) => ask(token, '/v1/conversations', { body: { agent: 'scripted', ...body } });

test('a token speaks for its user: conversations start as this user, and those of others do not exist', async () => {
  const [ada, bob, carl] = await Promise.all([tokenOf(), tokenOf({ sub: 'bob' }), tokenOf({ tenant: 'south' })]);
  const started = await start(ada, { message: 'Ahoy.' });
  const id = String(started.body['conversationId']);
  expect(await ask(ada, `/v1/conversations/${id}`)).toMatchObject({ status: 200, body: { userId: 'ada', tenantId: 'north' } });
  expect(await start(ada, { user: 'ada' })).toMatchObject({ status: 201 });
  expect(await start(ada, { user: 'bob' })).toMatchObject({ status: 400, body: { detail: 'body.user: it is not the user of this token. Leave it out' } });
  expect(await start(ada, { tenant: 'south' })).toMatchObject({ status: 400 });
  for (const other of [bob, carl]) {
    expect(await ask(other)).toMatchObject({ status: 200, body: { conversations: [] } });
    for (const path of ['', '/transcript', '/events', '/turn']) expect(await ask(other, `/v1/conversations/${id}${path}`)).toMatchObject({ status: 404 });
    for (const path of ['messages', 'close']) {
      const body = path === 'messages' ? { message: 'Ahoy.' } : {};
      expect(await ask(other, `/v1/conversations/${id}/${path}`, { body })).toMatchObject({ status: 404, body: { code: 'CONVERSATION_NOT_FOUND' } });
    }
    const taken = other === bob ? { status: 409, body: { code: 'CONVERSATION_EXISTS' } } : { status: 400, body: { code: 'INVALID_ARGUMENT' } };
    expect(await start(other, { conversationId: id })).toMatchObject(taken);
    expect(await ask(other, '/v1/conversations?user=ada')).toMatchObject({ body: { conversations: [] } });
  }
  expect((await ask(ada)).body['conversations']).toHaveLength(2);
  const boss = await tokenOf({ sub: 'boss', scope: 'admin' });
  expect(await ask(boss, `/v1/conversations/${id}`)).toMatchObject({ status: 200 });
  expect(await start(boss, { user: 'guest' })).toMatchObject({ status: 201 });
  expect((await ask(boss, '/v1/conversations?user=ada')).body['conversations']).toHaveLength(2);
}, 60_000);

test('two users with the same Idempotency-Key start two conversations', async () => {
  const ids = await Promise.all(
    ['dora', 'emil'].map(async (sub) => {
      const headers = { authorization: `Bearer ${await tokenOf({ sub })}`, 'content-type': 'application/json', 'idempotency-key': 'order-1' };
      const answer = await fetch(`${service.url}/v1/conversations`, { method: 'POST', headers, body: JSON.stringify({ agent: 'scripted' }) });
      return ((await answer.json()) as { conversationId: string }).conversationId;
    }),
  );
  expect(new Set(ids).size).toBe(2);
}, 60_000);

test('schedules of another user do not exist, and a schedule is made for the user of the token', async () => {
  const [ada, bob] = await Promise.all([tokenOf(), tokenOf({ sub: 'bob' })]);
  const id = `own-${installation.name}`;
  const body = { id, agent: 'scripted', message: 'Ahoy.', every: '30d' };
  expect(await ask(ada, '/v1/schedules', { body: { ...body, user: 'bob' } })).toMatchObject({ status: 400 });
  expect(await ask(ada, '/v1/schedules', { body })).toMatchObject({ status: 201, body: { user: 'ada', tenant: 'north' } });
  try {
    expect(await ask(bob, `/v1/schedules/${id}`)).toMatchObject({ status: 404 });
    expect(await ask(bob, '/v1/schedules')).toMatchObject({ status: 200, body: { schedules: [] } });
    expect(await ask(bob, `/v1/schedules/${id}`, { method: 'DELETE' })).toMatchObject({ status: 404 });
    expect(await ask(ada, `/v1/schedules/${id}`)).toMatchObject({ status: 200 });
  } finally {
    await installation.longshore.schedules.delete(id);
  }
}, 60_000);

test('a token that speaks for a user has the memory of that user alone', async () => {
  const scope = 'memory:read memory:write';
  const [ada, bob] = await Promise.all([tokenOf({ scope }), tokenOf({ sub: 'bob', scope })]);
  const file = '/v1/memory/files/notes/style.md';
  const put = (token: string, body: object) => ask(token, file, { method: 'PUT', body: { content: 'Short.', ...body } });
  expect(await put(ada, {})).toMatchObject({ status: 200, body: { version: 1, by: { kind: 'oidc', id: 'ada' } } });
  await installation.longshore.memory.write('notes/style.md', 'Of all.', { tenant: 'north' });
  await installation.longshore.memory.write('notes/style.md', 'Of the agent.', { tenant: 'north', agent: 'scripted' });
  expect(await ask(ada, file)).toMatchObject({ status: 200, body: { content: 'Short.' } });
  expect(await ask(ada, `${file}?user=ada&tenant=north`)).toMatchObject({ status: 200, body: { content: 'Short.' } });
  for (const query of ['user=ada', 'agent=scripted', 'tenant=south']) {
    expect(await ask(bob, `${file}?${query}`)).toMatchObject({ status: 404, body: { code: 'MEMORY_FILE_NOT_FOUND' } });
    expect(await ask(bob, `/v1/memory/history/notes/style.md?${query}`)).toMatchObject({ status: 404 });
    expect(await ask(bob, `${file}?${query}`, { method: 'DELETE' })).toMatchObject({ status: 404 });
    expect(await ask(bob, `/v1/memory?${query}`)).toMatchObject({ status: 200, body: { files: [] } });
    expect(await put(bob, Object.fromEntries(new URLSearchParams(query)))).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
  }
  expect(await ask(bob, '/v1/memory')).toMatchObject({ status: 200, body: { files: [] } });
  expect(await ask(await tokenOf({ sub: 'bob', scope: 'memory:read' }), file, { method: 'DELETE' })).toMatchObject({ status: 403 });
}, 60_000);

test('a token that speaks for a user has no webhooks, which take what all users of the tenant say', async () => {
  const scope = 'webhooks:read webhooks:write';
  const [ada, admin] = await Promise.all([tokenOf({ scope }), tokenOf({ sub: 'boss', scope: `${scope} admin` })]);
  const body = { url: 'https://hooks.example/longshore' };
  const made = await ask(admin, '/v1/webhooks', { body });
  expect(made).toMatchObject({ status: 201, body: { tenantId: 'north' } });
  const path = `/v1/webhooks/${String(made.body['webhookId'])}`;
  const refused = { status: 403, body: { code: 'SCOPE_MISSING', values: { scope: 'admin' } } };
  expect(await ask(ada, '/v1/webhooks', { body })).toMatchObject(refused);
  expect(await ask(ada, '/v1/webhooks')).toMatchObject(refused);
  expect(await ask(ada, path)).toMatchObject(refused);
  expect(await ask(ada, `${path}/attempts`)).toMatchObject(refused);
  for (const [action, given] of Object.entries({ replay: { since: '2027-01-31T09:00:00Z' }, enable: {}, secrets: {}, test: {} })) {
    expect(await ask(ada, `${path}/${action}`, { body: given })).toMatchObject(refused);
  }
  expect(await ask(ada, path, { method: 'PATCH', body })).toMatchObject(refused);
  expect(await ask(ada, path, { method: 'DELETE' })).toMatchObject(refused);
  expect(await ask(admin, '/v1/webhooks')).toMatchObject({ status: 200, body: { webhooks: [{ url: body.url, state: 'active' }] } });
  expect(await ask(admin, path, { method: 'DELETE' })).toMatchObject({ status: 202 });
}, 60_000);

test('users of two tenants who have the same id do not share what is counted for each, and an erasure removes it', async () => {
  const verify = createOidcVerifier(options()!);
  const [north, again, south] = await Promise.all([tokenOf(), tokenOf(), tokenOf({ tenant: 'south' })]);
  const [{ keyId }, { keyId: same }, { keyId: other }] = [await verify(north), await verify(again), await verify(south)];
  expect([same === keyId, other === keyId]).toEqual([true, false]);
  const { limits, removal } = installation.store;
  const count = async () => (await limits.count([{ key: keyId }, { key: other }])).map(({ requests }) => requests);
  let [own, foreign]: (number | undefined)[] = [];
  do {
    await count();
    await removal.removeUserEntries('north', 'ada');
    [own, foreign] = await count();
    // Another minute had begun in between.
  } while (foreign === 1);
  expect([own, foreign]).toEqual([1, expect.any(Number)]);
});

test('a token does what its scopes name, and an admin of a tenant is no operator', async () => {
  expect(await ask(await tokenOf({ scope: undefined }))).toMatchObject({ status: 403, body: { code: 'SCOPE_MISSING' } });
  expect(await ask(await tokenOf({ scope: ['conversations:read', 7, null] }))).toMatchObject({ status: 200 });
  expect(await ask(await tokenOf({ scope: 'conversations:readers xconversations:read' }))).toMatchObject({ status: 403 });
  expect(await ask(await tokenOf(), '/v1/approvals')).toMatchObject({ status: 403 });
  const admin = await tokenOf({ scope: 'admin' });
  expect(await ask(admin, '/v1/plugins')).toMatchObject({ status: 403, body: { code: 'OPERATOR_REQUIRED' } });
  const made = await ask(admin, '/v1/keys', { body: { name: 'mine', scopes: ['admin'] } });
  expect(made).toMatchObject({ status: 201, body: { tenantId: 'north' } });
  expect(await ask(admin, `/v1/audit?target=${String(made.body['keyId'])}`)).toMatchObject({ body: { entries: [{ actor: { kind: 'oidc', id: 'ada' } }] } });
}, 60_000);

test('a token without a usable tenant or user is refused, and never becomes an operator', async () => {
  for (const name of ['tenant', 'sub']) {
    for (const value of [undefined, null, '', ' ', 7, true, ['north'], { north: 1 }, 'x'.repeat(201), 'a\nb', 'a\u0000']) {
      const answer = await ask(await tokenOf({ scope: 'admin', [name]: value }));
      expect([name, value, answer.status, answer.body['code']]).toEqual([name, value, 401, 'UNAUTHENTICATED']);
    }
  }
  expect(await ask(await tokenOf({ ['__proto__']: { tenant: 'north' }, tenant: undefined }))).toMatchObject({ status: 401 });
}, 60_000);

test('a token that the issuer did not make for this service now is refused', async () => {
  const now = Math.floor(Date.now() / 1000);
  const stranger = await newKeys('first');
  const unknown = await newKeys('unknown');
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  // The public key as the secret of an HMAC: an old way around the signature.
  const confused = `${part({ alg: 'HS256', kid: 'first' })}.${part({ iss: url, aud: AUDIENCE, ...usual, exp: now + 300 })}`;
  const hmac = createHmac('sha256', await exportSPKI(keys.publicKey))
    .update(confused)
    .digest('base64url');
  const good = await tokenOf();
  const [head = '', body = '', signature = ''] = good.split('.');
  const tokens: Record<string, string> = {
    'no signature': new UnsecuredJWT({ iss: url, aud: AUDIENCE, ...usual }).setExpirationTime('5m').encode(),
    'another algorithm': `${confused}.${hmac}`,
    'another key with the same id': await tokenOf({}, { by: stranger }),
    'a key that the issuer does not have': await tokenOf({}, { by: unknown }),
    'a changed claim': `${head}.${part({ iss: url, aud: AUDIENCE, ...usual, tenant: 'south', exp: now + 300 })}.${signature}`,
    'another issuer': await tokenOf({ iss: 'https://elsewhere.example' }),
    'another audience': await tokenOf({ aud: 'billing' }),
    'no audience': await tokenOf({ aud: undefined }),
    'no end': await tokenOf({ exp: undefined }),
    ended: await tokenOf({ exp: now - 60 }),
    'not yet': await tokenOf({ nbf: now + 300 }),
    'an unknown critical header': await tokenOf({}, { header: { crit: ['urgent'], urgent: true } }).catch(
      () => `${part({ alg: 'ES256', kid: 'first', crit: ['urgent'], urgent: true })}.${body}.${signature}`,
    ),
    'very long': await tokenOf({ more: 'x'.repeat(9_000) }),
    'no token': 'a.b.c',
    'empty parts': '..',
    'two parts': `${head}.${body}`,
    'a key of its own in the header': await tokenOf({}, { by: stranger, header: { jwk: await exportJWK(stranger.publicKey), jku: `${url}/keys` } }),
  };
  for (const [name, token] of Object.entries(tokens)) {
    const answer = await ask(token);
    expect([name, answer.status, answer.body['code']]).toEqual([name, 401, 'UNAUTHENTICATED']);
    expect(JSON.stringify(answer.body)).not.toContain(token.slice(0, 40));
  }
  expect(await ask(good)).toMatchObject({ status: 200 });
  // The clocks of both may differ a little.
  expect(await ask(await tokenOf({ exp: now - 5 }))).toMatchObject({ status: 200 });
}, 60_000);

test('however many tokens name unknown keys, the issuer is not asked for each of them', async () => {
  await ask(await tokenOf());
  const before = asked;
  const strangers = await Promise.all(Array.from({ length: 50 }, async () => tokenOf({}, { by: { ...keys, kid: randomUUID() } })));
  for (const { status } of await Promise.all(strangers.map((token) => ask(token)))) expect(status).toBe(401);
  expect(asked - before).toBeLessThanOrEqual(1);
}, 60_000);

test('while the issuer cannot be reached, a token is answered with 503, and keys of the service work', async () => {
  isAway = true;
  await using other = await startApi(installation, {}, { oidc: options() });
  const token = await tokenOf();
  expect(await ask(token, undefined, undefined, other)).toMatchObject({ status: 503, body: { code: 'SERVICE_AWAY', retryable: true } });
  const key = await other.key();
  expect((await fetch(`${other.url}/v1/conversations`, { headers: key })).status).toBe(200);
  // A process that has its keys goes on.
  expect(await ask(token)).toMatchObject({ status: 200 });
  isAway = false;
  const deadline = Date.now() + 20_000;
  while ((await ask(token, undefined, undefined, other)).status !== 200 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await ask(token, undefined, undefined, other)).toMatchObject({ status: 200 });
}, 60_000);

test('settings that would let anybody in are refused', () => {
  for (const [settings, name] of [
    [{ LONGSHORE_OIDC_AUDIENCE: '' }, 'LONGSHORE_OIDC_AUDIENCE'],
    [{ LONGSHORE_OIDC_ALGORITHMS: 'RS256,none' }, 'LONGSHORE_OIDC_ALGORITHMS'],
    [{ LONGSHORE_OIDC_ALGORITHMS: 'HS256' }, 'LONGSHORE_OIDC_ALGORITHMS'],
    [{ LONGSHORE_OIDC_ISSUER: 'http://issuer.example' }, 'LONGSHORE_OIDC_ISSUER'],
    [{ LONGSHORE_OIDC_KEYS: 'http://issuer.example/keys' }, 'LONGSHORE_OIDC_KEYS'],
  ] as const) {
    expect(() => options(settings)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', values: expect.objectContaining({ name }) as object }));
  }
});
