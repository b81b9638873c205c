import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { installAgents, textIn, untilEvent, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';
import { BODIES } from './support/smallest-bodies.ts';

/** Who may do what: over all routes that the service has. */
let installation: Installation;
let service: TestApi;
/** What tenant `north` has: a conversation that is idle, one whose call waits for a person, a schedule, a key, a webhook. */
let id: string;
let asking: string;
let callId: string;
let schedule: string;
let webhook: string;
let keyId: string;
beforeAll(async () => {
  installation = await installAgents({
    scripted: { steps: [{ say: 'Ahoy.' }] },
    asks: { approval: [{ tool: 'shell:run', decide: 'ask' }], steps: [{ call: 'shell:run', with: { command: 'true' }, expect: { isError: true } }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  ({ id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.' }));
  await installation.longshore.reply(id);
  const chat = await installation.longshore.start({ agent: 'asks', user: 'user-1', tenant: 'north', message: 'Begin.' });
  asking = chat.id;
  callId = textIn((await untilEvent(chat, ({ type }) => type === 'tool.approval-requested')).data, 'callId');
  ({ keyId } = await installation.longshore.keys.create({ name: 'desk', scopes: ['admin'], tenant: 'north' }));
  schedule = `north-${installation.name}`;
  await installation.longshore.schedules.create({ id: schedule, agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.', every: '30d' });
  await installation.longshore.memory.write('made.txt', 'of north', { tenant: 'north' });
  ({ webhookId: webhook } = await installation.longshore.webhooks.create({ url: 'https://a.example', tenant: 'north' }));
}, 180_000);
afterAll(async () => {
  await installation.longshore.schedules.delete(schedule);
  await Promise.all([id, asking].map((each) => installation.longshore.close(each)));
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Route {
  method: string;
  path: string;
  isOpen: boolean;
}

function routes(): Route[] {
  const { paths = {} } = service.api.swagger() as unknown as { paths?: Record<string, Record<string, { security?: object[] }>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({ method: method.toUpperCase(), path, isOpen: security?.length === 0 })),
  );
}

/** A route with the ids of what tenant `north` has. */
async function ask(
  { method, path }: Pick<Route, 'method' | 'path'> & Partial<Route>,
  headers: Record<string, string>,
  url = service.url,
  ids = { id, schedule, webhook, callId, keyId },
) {
  const place =
    url +
    path
      .replace('schedules/{id}', `schedules/${ids.schedule}`)
      .replace('webhooks/{id}', `webhooks/${ids.webhook}`)
      .replace('plugins/{id}', 'plugins/tides')
      .replace('{id}', ids.id)
      .replace('{*}', 'made.txt')
      .replace('{execId}', 'run_1')
      .replace('{callId}', ids.callId)
      .replace('{model}', 'scripted')
      .replace('{port}', '3000')
      .replace('{name}', 'main')
      .replace('{keyId}', ids.keyId);
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const answer = await fetch(place, {
    method,
    headers: { ...headers, ...(hasBody && { 'content-type': 'application/json' }) },
    ...(hasBody && { body: JSON.stringify(BODIES[path] ?? {}) }),
  });
  const body = await answer.text();
  return { status: answer.status, type: answer.headers.get('content-type'), body, code: answer.headers.get('x-longshore-error') ?? codeIn(body) };
}

/** The code of a refusal, as problem+json or as OpenAI's API tells it. */
function codeIn(body: string): string | undefined {
  if (!body.startsWith('{')) return undefined;
  const { code, error } = JSON.parse(body) as { code?: string; error?: { code: string } };
  return code ?? error?.code;
}

/** How each protocol tells a refusal. */
function refusalType(path: string): string {
  if (path.startsWith('/api/')) return 'text/plain; charset=utf-8';
  return path.startsWith('/openai/') ? 'application/json; charset=utf-8' : 'application/problem+json';
}

test('every route but those for operations and those of links needs a key', async () => {
  const guarded = routes().filter(({ isOpen }) => !isOpen);
  expect(guarded.length).toBeGreaterThan(12);
  const { text } = await installation.longshore.keys.create({ name: 'gone', scopes: ['admin'] });
  const [gone] = (await installation.longshore.keys.list()).filter(({ name }) => name === 'gone');
  await installation.longshore.keys.revoke(gone!.keyId);
  const changed = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
  for (const headers of [{}, { authorization: 'Basic abc' }, { authorization: `Bearer ${text}` }, { authorization: `Bearer ${changed}` }]) {
    for (const route of guarded) {
      const { status, type, code } = await ask(route, headers);
      expect([route.path, status, type, code]).toEqual([route.path, 401, refusalType(route.path), 'UNAUTHENTICATED']);
    }
  }
}, 60_000);

/** What a caller of another tenant is told. Plugins are of all tenants, and only operators reach them. */
const FOREIGN: Record<string, string> = {
  '/v1/conversations': 'CONVERSATION_NOT_FOUND',
  '/v1/schedules': 'SCHEDULE_NOT_FOUND',
  '/v1/approvals': 'APPROVAL_NOT_FOUND',
  '/v1/keys': 'KEY_NOT_FOUND',
  '/v1/memory': 'MEMORY_FILE_NOT_FOUND',
  '/v1/webhooks': 'WEBHOOK_NOT_FOUND',
  '/v1/plugins': 'OPERATOR_REQUIRED',
  '/api/chat': 'CONVERSATION_NOT_FOUND',
};
/** For these, an id of another tenant is a new id of the caller's own tenant; all tenants have the same agents. */
const AS_UNUSED: Record<string, [status: number, body: unknown]> = {
  '/api/chat/{id}/stream': [204, ''],
  '/api/chat/{id}/messages': [200, '[]'],
  '/openai/v1/models/{model}': [200, expect.stringContaining('"scripted"')],
};

test('for the key of another tenant, nothing of a conversation exists on any route, and nothing of it changes', async () => {
  const before = await installation.longshore.status(id);
  const south = await service.key(['admin'], 'south');
  // A file is written into the memory of the caller's own tenant.
  const isOwn = ({ method, path }: Route) => method === 'PUT' && path.startsWith('/v1/memory');
  for (const route of routes().filter((each) => each.path.includes('{') && !each.isOpen && !isOwn(each))) {
    const { status, body, code: told } = await ask(route, south);
    const unused = AS_UNUSED[route.path];
    if (unused) {
      expect([route.path, status, body]).toEqual([route.path, ...unused]);
      continue;
    }
    const [, code] = Object.entries(FOREIGN).find(([prefix]) => route.path.startsWith(prefix)) ?? [];
    expect([route.method, route.path, status, told]).toEqual([route.method, route.path, code === 'OPERATOR_REQUIRED' ? 403 : 404, code]);
  }
  const listed = await ask({ method: 'GET', path: '/v1/conversations', isOpen: false }, south);
  expect(JSON.parse(listed.body)).toEqual({ conversations: [] });
  for (const [path, list] of [
    ['/v1/schedules', 'schedules'],
    ['/v1/approvals', 'approvals'],
    ['/v1/webhooks', 'webhooks'],
  ] as const) {
    const { body } = await ask({ method: 'GET', path, isOpen: false }, south);
    expect(JSON.parse(body)).toEqual({ [list]: [] });
  }
  const named = await ask({ method: 'GET', path: '/v1/conversations?tenant=north', isOpen: false }, south);
  expect(JSON.parse(named.body)).toEqual({ conversations: [] });
  expect(await installation.longshore.status(id)).toEqual(before);
  expect(await installation.longshore.memory.list({ tenant: 'north' })).toMatchObject([{ path: 'made.txt', version: 1, firstLine: 'of north' }]);
  const taken = await fetch(`${service.url}/v1/conversations`, {
    method: 'POST',
    headers: { ...south, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'scripted', user: 'user-1', message: 'Mine.', conversationId: id }),
  });
  // The same as for such an id that no conversation has.
  expect([taken.status, await taken.json()]).toEqual([400, expect.objectContaining({ code: 'INVALID_ARGUMENT' })]);
  const lent = await fetch(`${service.url}/v1/conversations`, {
    method: 'POST',
    headers: { ...south, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'scripted', user: 'user-1', tenant: 'north' }),
  });
  expect([lent.status, await lent.json()]).toEqual([400, expect.objectContaining({ detail: 'body.tenant: it is not the tenant of this key. Leave it out' })]);
}, 60_000);

test('no list and no count has anything of another tenant, however it is asked for', async () => {
  const [north, south] = [await service.key(['admin'], 'north'), await service.key(['admin'], 'south')];
  const lists = routes().filter(({ method, path, isOpen }) => method === 'GET' && !path.includes('{') && !isOpen);
  const shown = new Map<string, string>();
  for (const { method, path } of lists) {
    for (const query of ['', '?tenant=north', '?limit=200', '?tenant=', '?user=user-1']) {
      const { body } = await ask({ method, path: path + query }, south);
      expect([path + query, ...[id, asking, callId, schedule, keyId, webhook, '"north"', 'of north'].filter((one) => body.includes(one))]).toEqual([
        path + query,
      ]);
    }
    shown.set(path, (await ask({ method, path }, north)).body);
  }
  const inList = {
    '/v1/conversations': asking,
    '/v1/approvals': callId,
    '/v1/schedules': schedule,
    '/v1/keys': keyId,
    '/v1/audit': keyId,
    '/v1/memory': 'of north',
  };
  for (const [path, own] of Object.entries(inList)) expect([path, shown.get(path)?.includes(own)]).toEqual([path, true]);
  const used = async (key: Record<string, string>) => (JSON.parse((await ask({ method: 'GET', path: '/v1/usage' }, key)).body) as { total: object }).total;
  expect(await used(north)).not.toMatchObject({ calls: 0 });
  expect(await used(south)).toMatchObject({ calls: 0, inputTokens: 0 });
}, 60_000);

test("every statement of a tenant's request runs as the role that sees only that tenant: a database user who may read nothing but keys is enough for all routes", async () => {
  const admin = new Client(installation.environment['DATABASE_URL']);
  await admin.connect();
  const user = `user_${randomBytes(4).toString('hex')}`;
  await admin.query(`create role ${user} login password 'ahoy'; grant longshore_tenant to ${user} with inherit false; grant select, update on api_keys to ${user};
    grant select on longshore_migrations, schema_needs, limits to ${user}; grant select, insert, update on temporal_home to ${user}`);
  const address = new URL(installation.environment['DATABASE_URL'] ?? '');
  [address.username, address.password] = [user, 'ahoy'];
  const limited = await startApi({ ...installation, environment: { ...installation.environment, DATABASE_URL: address.href } });
  try {
    const { longshore } = installation;
    const own = {
      id: (await longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north' })).id,
      schedule: `own-${installation.name}`,
      keyId: (await longshore.keys.create({ name: 'own', scopes: ['admin'], tenant: 'north' })).keyId,
      callId: 'call_1',
      webhook: (await longshore.webhooks.create({ url: 'https://b.example', tenant: 'north' })).webhookId,
    };
    await longshore.schedules.create({ id: own.schedule, agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.', every: '30d' });
    const north = await limited.key(['admin'], 'north');
    // Those that end something come last. Plugins are for operators, and this conversation has no sandbox.
    const guarded = routes().filter(({ isOpen }) => !isOpen);
    const last = (route: Route) => Number(route.path.endsWith('/close') || route.method === 'DELETE');
    for (const route of guarded.toSorted((a, b) => last(a) - last(b))) {
      const { status, body } = await ask(route, north, limited.url, own);
      const isAnswered =
        status < 500 &&
        (route.method !== 'GET' ||
          status < 300 ||
          /\/metrics|\/plugins|\/limits|\/files\/|\/commands|\/sandbox|\/diff|\/terminals|\/ports\/|\/attachments\//.test(route.path));
      expect([route.method, route.path, isAnswered || body]).toEqual([route.method, route.path, true]);
    }
    const operator = await ask({ method: 'GET', path: '/v1/conversations' }, await limited.key(['admin']), limited.url);
    expect(operator.status).toBe(500);
    const made = await longshore.list({ tenant: 'north', limit: 50 });
    await Promise.all(made.filter(({ conversationId }) => ![id, asking].includes(conversationId)).map(({ conversationId }) => longshore.close(conversationId)));
  } finally {
    await limited[Symbol.asyncDispose]();
    await admin.query(`drop owned by ${user} cascade; drop role ${user}`);
    await admin.end();
  }
}, 120_000);

test('a key does only what its scopes name', async () => {
  const reader = await service.key(['conversations:read'], 'north');
  for (const route of routes().filter(({ isOpen }) => !isOpen)) {
    const { status, code } = await ask(route, reader);
    const isRead =
      route.method === 'GET' &&
      !/^\/(metrics|v1\/(approvals|audit|keys|limits|memory|plugins|webhooks|conversations\/{id}\/(files|diff|export|commands|terminals|ports)))/.test(
        route.path,
      );
    // No turn runs.
    const ok =
      { '/api/chat/{id}/stream': 204, '/v1/conversations/{id}/sandbox': 404, '/v1/conversations/{id}/attachments/{attachmentId}': 404 }[route.path] ?? 200;
    const expected = isRead ? ok : 403;
    expect([route.method, route.path, status]).toEqual([route.method, route.path, expected]);
    if (status === 403) expect(code).toBe('SCOPE_MISSING');
  }
}, 60_000);

test('what cannot be answered is a problem that says what to do, and nothing of the inside', async () => {
  const key = await service.key();
  const refused: [path: string, init: RequestInit, status: number, detail: string][] = [
    ['/v1/nothing', {}, 404, 'No route GET /v1/nothing. /openapi.json lists the routes'],
    ['/v1/conversations', { method: 'POST', body: '{' }, 400, 'body: it is no JSON. Send JSON with content-type: application/json'],
    ['/v1/conversations', { method: 'POST', body: '['.repeat(1_000_000) }, 400, 'body: it is nested more than 500 levels deep'],
    ['/v1/conversations', { method: 'POST', body: '{"agent":"scripted","user":"u","__proto__":{}}' }, 400, 'body: "__proto__" is no option'],
    ['/v1/conversations', { method: 'POST', body: '{"agent":"scripted"}' }, 400, 'body.user: it is undefined. Give a text'],
    [
      '/v1/conversations',
      { method: 'POST', body: '{"agent":"scripted","user":"u","extra":1}' },
      400,
      'body: "extra" is no option. Use agent, user, message, attachments, output, clientTools, tenant, unattended, closeWhenDone, conversationId',
    ],
    [`/v1/conversations/${id}/fork?at=turn_1`, { method: 'POST', body: '{}' }, 400, 'query: "at" is no option. Leave it out'],
    ['/v1/conversations', { method: 'POST', body: '{"agent":"nobody","user":"u"}' }, 404, 'No agent named "nobody".'],
    [
      '/v1/conversations',
      { method: 'POST', body: JSON.stringify({ agent: 'a', user: 'x'.repeat(31_000_000) }) },
      413,
      'The body of the request has more than 30000000 bytes.',
    ],
    [`/v1/conversations/${id}/events?types=nothing`, {}, 400, 'query.types.0: it is "nothing". Use one of conversation.started'],
    [`/v1/conversations/${id}/events?after=-1`, {}, 400, 'query.after: '],
    ['/v1/conversations?limit=1000', {}, 400, 'query.limit: '],
    ['/v1/conversations/%00/events', {}, 404, 'No conversation "'],
  ];
  for (const [path, init, status, detail] of refused) {
    const answer = await fetch(service.url + path, { ...init, headers: { ...key, 'content-type': 'application/json' } });
    const problem = (await answer.json()) as { detail: string; status: number };
    expect([path, answer.status, problem.status]).toEqual([path, status, status]);
    expect(problem.detail).toContain(detail);
    expect(JSON.stringify(problem)).not.toContain(installation.environment['LONGSHORE_AGENTS']);
  }
}, 60_000);
