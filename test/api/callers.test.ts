import { install, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';

/** Who may do what: over all routes that the service has. */
let installation: Installation;
let service: TestApi;
/** A conversation and a schedule of tenant `north`. */
let id: string;
let schedule: string;
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  await installation.startWorker().ready;
  service = await startApi(installation);
  ({ id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.' }));
  await installation.longshore.reply(id);
  schedule = `north-${installation.name}`;
  await installation.longshore.schedules.create({ id: schedule, agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Ahoy.', every: '30d' });
}, 180_000);
afterAll(async () => {
  await installation.longshore.schedules.delete(schedule);
  await installation.longshore.close(id);
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Route {
  method: string;
  path: string;
  isOpen: boolean;
}

function routes(): Route[] {
  const { paths = {} } = service.api.swagger() as unknown as { paths?: Record<string, Record<string, { tags?: string[] }>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags }]) => ({ method: method.toUpperCase(), path, isOpen: tags?.includes('operations') === true })),
  );
}

/** The smallest body that each route takes. */
const BODIES: Record<string, object> = {
  '/v1/conversations': { agent: 'scripted', user: 'user-1' },
  '/v1/conversations/{id}/messages': { message: 'Ahoy.' },
  '/v1/approvals/{callId}': { answer: 'allow' },
  '/v1/schedules': { id: 'mine', agent: 'scripted', user: 'user-1', message: 'Ahoy.', every: '30d' },
  '/v1/keys': { name: 'mine', scopes: ['admin'] },
  '/v1/plugins/{id}/config': { config: {} },
  '/v1/plugins/{id}/grants': { permissions: 'asked' },
};

async function ask({ method, path }: Route, headers: Record<string, string>) {
  const url =
    service.url +
    path
      .replace('schedules/{id}', `schedules/${schedule}`)
      .replace('plugins/{id}', 'plugins/tides')
      .replace('{id}', id)
      .replace('{callId}', 'call_1')
      .replace('{keyId}', 'key_1');
  const hasBody = method === 'POST' || method === 'PUT';
  const answer = await fetch(url, {
    method,
    headers: { ...headers, ...(hasBody && { 'content-type': 'application/json' }) },
    ...(hasBody && { body: JSON.stringify(BODIES[path] ?? {}) }),
  });
  return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() };
}

test('every route but those for operations needs a key', async () => {
  const guarded = routes().filter(({ isOpen }) => !isOpen);
  expect(guarded.length).toBeGreaterThan(12);
  const { text } = await installation.longshore.keys.create({ name: 'gone', scopes: ['admin'] });
  const [gone] = (await installation.longshore.keys.list()).filter(({ name }) => name === 'gone');
  await installation.longshore.keys.revoke(gone!.keyId);
  const changed = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
  for (const headers of [{}, { authorization: 'Basic abc' }, { authorization: `Bearer ${text}` }, { authorization: `Bearer ${changed}` }]) {
    for (const route of guarded) {
      const { status, type, body } = await ask(route, headers);
      expect([route.path, status, type, (JSON.parse(body) as { code: string }).code]).toEqual([route.path, 401, 'application/problem+json', 'UNAUTHENTICATED']);
    }
  }
}, 60_000);

/** What a caller of another tenant is told. Plugins are of all tenants, and only operators reach them. */
const FOREIGN: Record<string, string> = {
  '/v1/conversations': 'CONVERSATION_NOT_FOUND',
  '/v1/schedules': 'SCHEDULE_NOT_FOUND',
  '/v1/approvals': 'APPROVAL_NOT_FOUND',
  '/v1/keys': 'KEY_NOT_FOUND',
  '/v1/plugins': 'OPERATOR_REQUIRED',
};

test('for the key of another tenant, nothing of a conversation exists on any route, and nothing of it changes', async () => {
  const before = await installation.longshore.status(id);
  const south = await service.key(['admin'], 'south');
  for (const route of routes().filter(({ path }) => path.includes('{'))) {
    const { status, body } = await ask(route, south);
    const [, code] = Object.entries(FOREIGN).find(([prefix]) => route.path.startsWith(prefix)) ?? [];
    expect([route.method, route.path, status, (JSON.parse(body) as { code: string }).code]).toEqual([
      route.method,
      route.path,
      code === 'OPERATOR_REQUIRED' ? 403 : 404,
      code,
    ]);
  }
  const listed = await ask({ method: 'GET', path: '/v1/conversations', isOpen: false }, south);
  expect(JSON.parse(listed.body)).toEqual({ conversations: [] });
  for (const [path, list] of [
    ['/v1/schedules', 'schedules'],
    ['/v1/approvals', 'approvals'],
  ] as const) {
    const { body } = await ask({ method: 'GET', path, isOpen: false }, south);
    expect(JSON.parse(body)).toEqual({ [list]: [] });
  }
  const named = await ask({ method: 'GET', path: '/v1/conversations?tenant=north', isOpen: false }, south);
  expect(JSON.parse(named.body)).toEqual({ conversations: [] });
  expect(await installation.longshore.status(id)).toEqual(before);
  const taken = await fetch(`${service.url}/v1/conversations`, {
    method: 'POST',
    headers: { ...south, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'scripted', user: 'user-1', message: 'Mine.', conversationId: id }),
  });
  expect([taken.status, await taken.json()]).toEqual([409, expect.objectContaining({ code: 'CONVERSATION_EXISTS' })]);
  const lent = await fetch(`${service.url}/v1/conversations`, {
    method: 'POST',
    headers: { ...south, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'scripted', user: 'user-1', tenant: 'north' }),
  });
  expect([lent.status, await lent.json()]).toEqual([400, expect.objectContaining({ detail: 'body.tenant: it is not the tenant of this key. Leave it out' })]);
}, 60_000);

test('a key does only what its scopes name', async () => {
  const reader = await service.key(['conversations:read'], 'north');
  for (const route of routes().filter(({ isOpen }) => !isOpen)) {
    const { status, body } = await ask(route, reader);
    const isRead = route.method === 'GET' && !['/v1/approvals', '/v1/keys', '/v1/plugins'].some((path) => route.path.startsWith(path));
    const expected = isRead ? 200 : 403;
    expect([route.method, route.path, status]).toEqual([route.method, route.path, expected]);
    if (status === 403) expect(JSON.parse(body)).toMatchObject({ code: 'SCOPE_MISSING', retryable: false });
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
      'body: "extra" is no option. Use agent, user, message, tenant, unattended, closeWhenDone, conversationId',
    ],
    ['/v1/conversations', { method: 'POST', body: '{"agent":"nobody","user":"u"}' }, 404, 'No agent named "nobody".'],
    [
      '/v1/conversations',
      { method: 'POST', body: JSON.stringify({ agent: 'a', user: 'x'.repeat(3_000_000) }) },
      413,
      'The body of the request has more than 2000000 bytes.',
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

test('a list has pages, newest first, without gaps or repetitions', async () => {
  const key = await service.key(['admin'], 'west');
  const made: string[] = [];
  for (let count = 0; count < 7; count += 1) made.unshift((await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'west' })).id);
  const listed: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const answer = await fetch(`${service.url}/v1/conversations?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`, { headers: key });
    const page = (await answer.json()) as { conversations: { conversationId: string }[]; next?: string };
    listed.push(...page.conversations.map(({ conversationId }) => conversationId));
    cursor = page.next;
  }
  expect(listed).toEqual(made);
  for (const each of made) await installation.longshore.close(each);
}, 60_000);
