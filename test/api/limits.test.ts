import { install, until, type Installation } from '../e2e/support.ts';
import { statusOf } from '../store/support.ts';
import { startApi, type TestApi } from './support.ts';

/** Two processes of one service. */
let installation: Installation;
let services: [TestApi, TestApi];
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  await installation.startWorker().ready;
  services = [await startApi(installation), await startApi(installation, { tenants: { streams: 2 } })];
}, 180_000);
afterAll(async () => {
  for (const { conversationId } of await installation.longshore.list({ limit: 100 })) await installation.longshore.close(conversationId).catch(() => undefined);
  for (const service of services) await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Answer {
  status: number;
  retryAfter: string | null;
  body: { code?: string; detail?: string; conversationId?: string };
}

async function ask(at: 0 | 1, path: string, headers: Record<string, string>, body?: object): Promise<Answer> {
  const answer = await fetch(services[at].url + path, {
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: (await answer.json()) as Answer['body'] };
}
const start = { agent: 'scripted', user: 'user-1', message: 'Ahoy.' };

test('requests per minute count for all keys of a tenant, at all processes together; other tenants and operators are not affected', async () => {
  const minute = () => new Date().getUTCMinutes();
  let tenant = '';
  let statuses: number[] = [];
  let refused: Answer | undefined;
  // A new minute in between begins a new count: then once more.
  for (let tries = 0, began = -1; tries < 3 && began !== minute(); tries += 1) {
    began = minute();
    tenant = `busy-${tries}`;
    await installation.longshore.limits.set({ tenant, requestsPerMinute: 4 });
    const keys = [await services[0].key(['conversations:read'], tenant), await services[1].key(['conversations:read'], tenant)];
    const answers: Answer[] = [];
    for (let count = 0; count < 6; count += 1) answers.push(await ask((count % 2) as 0 | 1, '/v1/conversations', keys[count % 2]!));
    statuses = answers.map(({ status }) => status);
    refused = answers.at(-1);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  expect(refused?.body).toMatchObject({
    code: 'LIMIT_REACHED',
    detail: `This tenant has reached its limit requestsPerMinute, 4. Try again in ${refused?.retryAfter} s, or ask an operator for more: longshore limits set`,
    values: { limit: 'requestsPerMinute', allowed: 4 },
  });
  expect(Number(refused?.retryAfter)).toBeGreaterThanOrEqual(1);
  expect(Number(refused?.retryAfter)).toBeLessThanOrEqual(60);
  const other = await services[0].key(['conversations:read'], 'quiet');
  const operator = await services[0].key(['conversations:read']);
  for (const key of [other, operator]) for (let count = 0; count < 8; count += 1) expect((await ask(0, '/v1/conversations', key)).status).toBe(200);
  // Taken back by an operator, it is in force everywhere within seconds.
  await installation.longshore.limits.set({ tenant });
  const again = await services[1].key(['conversations:read'], tenant);
  expect((await ask(1, '/v1/conversations', again)).status).toBe(200);
}, 60_000);

test('a key may have a limit of its own', async () => {
  const [one, two] = [await services[0].key(['conversations:read'], 'pair'), await services[0].key(['conversations:read'], 'pair')];
  await installation.longshore.limits.set({ key: one.authorization.split('_')[1] ?? '', requestsPerMinute: 0 });
  expect(await ask(0, '/v1/conversations', one)).toMatchObject({ status: 429, body: { code: 'LIMIT_REACHED', values: { of: 'key' } } });
  expect((await ask(0, '/v1/conversations', two)).status).toBe(200);
});

test('requests with a link to a preview count for the key that made it', async () => {
  const { longshore } = installation;
  const { id } = await longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'shown' });
  const minute = () => new Date().getUTCMinutes();
  let statuses: (number | string | null)[] = [];
  for (let tries = 0, began = -1; tries < 3 && began !== minute(); tries += 1) {
    began = minute();
    const key = await services[0].key(['ports:connect'], 'shown');
    const made = await ask(0, `/v1/conversations/${id}/previews`, key, { port: 3000 });
    const { pathname } = new URL((made.body as { url: string }).url);
    await longshore.limits.set({ key: key.authorization.split('_')[1] ?? '', requestsPerMinute: 2 });
    const opened = [];
    // It has no sandbox yet.
    for (let count = 0; count < 3; count += 1) opened.push(await fetch(services[1].url + pathname));
    statuses = [
      ...opened.map(({ status }) => status),
      opened[2]!.headers.get('x-longshore-error'),
      (await ask(1, `/v1/conversations/${id}/ports/3000/x`, key)).status,
    ];
    expect(Number(opened[2]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(opened[2]!.status === 429 ? 1 : 0);
  }
  expect(statuses).toEqual([404, 404, 429, 'LIMIT_REACHED', 429]);
}, 60_000);

test('a tenant begins no turn beyond its running conversations, its tokens or its cost of a day', async () => {
  const { limits } = installation.longshore;
  await limits.set({ tenant: 'crowd', runningConversations: 1 });
  await limits.set({ tenant: 'thrifty', tokensPerDay: 1 });
  await limits.set({ tenant: 'broke', costUsdPerDay: 0 });
  const key = (tenant: string) => services[0].key(['conversations:read', 'conversations:write'], tenant);
  const crowd = await key('crowd');
  const first = await ask(0, '/v1/conversations?wait=30', crowd, start);
  expect(first.status).toBe(201);
  const busy = statusOf('conv_busy', { tenantId: 'crowd', state: 'running' });
  await installation.store.conversations.create({ ...busy, status: busy });
  const more = { status: 429, retryAfter: '10', body: { code: 'LIMIT_REACHED', values: { limit: 'runningConversations', of: 'tenant', allowed: 1 } } };
  expect(await ask(0, '/v1/conversations', crowd, start)).toMatchObject(more);
  expect(await ask(0, `/v1/conversations/${first.body.conversationId}/messages`, crowd, { message: 'More.' })).toMatchObject(more);
  // Without a message there is no turn.
  expect((await ask(0, '/v1/conversations', crowd, { agent: 'scripted', user: 'user-1' })).status).toBe(201);
  const thrifty = await key('thrifty');
  expect((await ask(0, '/v1/conversations?wait=30', thrifty, start)).status).toBe(201);
  expect(await ask(0, '/v1/conversations', thrifty, start)).toMatchObject({ status: 429, body: { values: { limit: 'tokensPerDay' } } });
  expect(await ask(0, '/v1/conversations', await key('broke'), start)).toMatchObject({ status: 429, body: { values: { limit: 'costUsdPerDay' } } });
  expect((await ask(0, '/v1/conversations?wait=30', await key('free'), start)).status).toBe(201);
}, 60_000);

test('a request that waits counts like a stream; a start that could not wait starts nothing', async () => {
  const key = await services[1].key(['conversations:read', 'conversations:write'], 'patient');
  const made = await ask(1, '/v1/conversations', key, { agent: 'scripted', user: 'user-1' });
  const leaving = new AbortController();
  const path = `${services[1].url}/v1/conversations/${made.body.conversationId}`;
  const stream = () => fetch(`${path}/events`, { headers: { ...key, accept: 'text/event-stream' }, signal: leaving.signal });
  const streams = [await stream(), await stream()];
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  const full = { status: 429, body: { code: 'STREAM_LIMIT', detail: expect.stringContaining('This key has 2 streams and waiting requests open') } };
  expect(await ask(1, `/v1/conversations/${made.body.conversationId}/turn?wait=30`, key)).toMatchObject(full);
  expect(await ask(1, '/v1/conversations?wait=30', key, start)).toMatchObject(full);
  const completion = { model: 'scripted', messages: [{ role: 'user', content: 'Ahoy.' }] };
  expect(await ask(1, '/openai/v1/chat/completions', key, completion)).toMatchObject({ status: 429, body: { error: { code: 'STREAM_LIMIT' } } });
  expect(await installation.longshore.list({ tenant: 'patient' })).toHaveLength(1);
  leaving.abort();
  await Promise.allSettled(streams.map((one) => one.text()));
  await until(async () => (await ask(1, '/v1/conversations?wait=30', key, start)).status === 201, 'room for a request that waits');
}, 60_000);

test('operators list and set limits over HTTP; a key of a tenant does neither', async () => {
  const operator = await services[0].key(['admin']);
  const put = (headers: Record<string, string>, body: object) =>
    fetch(`${services[0].url}/v1/limits`, { method: 'PUT', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const set = await put(operator, { tenant: 'acme', streams: 3, costUsdPerDay: 2.5 });
  expect(await set.json()).toMatchObject({
    limits: expect.arrayContaining([expect.objectContaining({ tenant: 'acme', limits: { streams: 3, costUsdPerDay: 2.5 } })]),
  });
  expect((await put(operator, { tenant: 'acme', key: 'k' })).status).toBe(400);
  // A key that was mistyped would stay without limits.
  const refused = await put(operator, { key: 'nosuchkey123', requestsPerMinute: 60 });
  expect([refused.status, (await refused.json() as { code: string }).code]).toEqual([404, 'KEY_NOT_FOUND']); // prettier-ignore
  expect((await put(operator, { key: 'nosuchkey123' })).status).toBe(200);
  expect((await put(operator, {})).status).toBe(400);
  // Turns belong to tenants.
  const ofKey = await put(operator, { key: 'nosuchkey123', runningTurns: 1 });
  const why = 'options of limits.set: runningTurns of a key: a turn belongs to a tenant. Name the tenant';
  expect([ofKey.status, ((await ofKey.json()) as { detail: string }).detail]).toEqual([400, why]);
  expect((await put(operator, { tenant: 'acme', streams: -1 })).status).toBe(400);
  await put(operator, { tenant: 'acme' });
  expect((await installation.longshore.limits.list()).filter(({ tenant }) => tenant === 'acme')).toEqual([]);
  const own = await services[0].key(['admin'], 'acme');
  expect((await put(own, { tenant: 'acme', streams: 100 })).status).toBe(403);
  expect((await ask(0, '/v1/limits', own)).status).toBe(403);
});
