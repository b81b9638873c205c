import { Client } from 'pg';
import { archiveOf } from '../../e2e/export/make-archive.ts';
import { install, type Installation } from '../../e2e/support.ts';
import { derivedId } from '../../../src/platform/derived-id.ts';
import { startApi, type TestApi } from '../support.ts';

/** Two processes of one service; nothing here needs a worker. */
let installation: Installation;
let services: [TestApi, TestApi];
const schedules: string[] = [];
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  services = [await startApi(installation), await startApi(installation)];
}, 180_000);
afterAll(async () => {
  for (const id of schedules) await installation.longshore.schedules.delete(id);
  for (const service of services) await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Answer {
  status: number;
  replayed: string | null;
  text: string;
}

async function post(at: number, path: string, headers: Record<string, string>, key: string, body: object): Promise<Answer> {
  const answer = await fetch(services[at % 2]!.url + path, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, replayed: answer.headers.get('idempotency-replayed'), text: await answer.text() };
}
const codeOf = ({ status, text }: Answer) => [status, (JSON.parse(text) as { code: string }).code];

test('a repeated request is given the answer of the first, at any process; the same key with another request is refused; tenants do not share keys', async () => {
  const [north, south] = [await services[0].key(['conversations:write'], 'north'), await services[0].key(['conversations:write'], 'south')];
  const id = `north-${installation.name}`;
  const body = { id, agent: 'scripted', user: 'user-1', message: 'Ahoy.', every: '30d' };
  const first = await post(0, '/v1/schedules', north, 'order-1', body);
  schedules.push(id);
  expect([first.status, first.replayed]).toEqual([201, null]);
  expect(await post(1, '/v1/schedules', north, 'order-1', body)).toEqual({ ...first, replayed: 'true' });
  expect(codeOf(await post(1, '/v1/schedules', north, 'order-1', { ...body, message: 'Other.' }))).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
  // Without the key, the route itself would say that the schedule exists; for another tenant it does, and the answer of the first is not given.
  expect(codeOf(await post(0, '/v1/schedules', south, 'order-1', body))).toEqual([409, 'SCHEDULE_EXISTS']);
});

test('of many at once, one takes effect; what is shown once is not kept for a repetition', async () => {
  const admin = await services[0].key(['admin'], 'west');
  const body = { name: 'once', scopes: ['conversations:read'] };
  const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => post(at, '/v1/keys', admin, 'key-1', body)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) expect(['IDEMPOTENCY_RUNNING', 'IDEMPOTENCY_ONCE']).toContain(codeOf(answer)[1]);
  expect(codeOf(await post(1, '/v1/keys', admin, 'key-1', body))).toEqual([409, 'IDEMPOTENCY_ONCE']);
  expect((await installation.longshore.keys.list('west')).filter(({ name }) => name === 'once')).toHaveLength(1);
});

test('another tenant cannot take the id that a repeated request will have, by a start or a fork', async () => {
  const [north, south] = [await services[0].key(['conversations:write'], 'north'), await services[0].key(['conversations:write'], 'south')];
  const taskQueue = installation.environment['LONGSHORE_TASK_QUEUE'] ?? '';
  const conversationId = derivedId('conv', [taskQueue, 'north', 'conversations', 'order-9']);
  const body = { agent: 'scripted', user: 'user-1' };
  const refused = { status: 400, text: expect.stringContaining('has the form of ids that the service makes') as string };
  expect(await post(0, '/v1/conversations', south, 'a', { ...body, conversationId })).toMatchObject(refused);
  const own = await post(0, '/v1/conversations', south, 'b', body);
  const { conversationId: source } = JSON.parse(own.text) as { conversationId: string };
  expect(await post(0, `/v1/conversations/${source}/fork`, south, 'c', { conversationId })).toMatchObject(refused);
  const made = await post(1, '/v1/conversations', north, 'order-9', body);
  expect([made.status, JSON.parse(made.text)]).toEqual([201, { conversationId }]);
  // One's own may be named again.
  expect(await post(1, '/v1/conversations', north, 'd', { ...body, conversationId })).toMatchObject({ status: 201 });
  for (const id of [source, conversationId]) await installation.longshore.close(id);
});

test('what was refused did nothing, and may be tried again with the same key', async () => {
  const writer = await services[0].key(['conversations:write'], 'north');
  const id = `late-${installation.name}`;
  const body = { id, agent: 'nobody', user: 'user-1', message: 'Ahoy.', every: '30d' };
  expect(codeOf(await post(0, '/v1/schedules', writer, 'order-2', body))).toEqual([404, 'AGENT_NOT_FOUND']);
  expect((await post(1, '/v1/schedules', writer, 'order-2', { ...body, agent: 'scripted' })).status).toBe(201);
  schedules.push(id);
  expect(codeOf(await post(0, '/v1/schedules', writer, 'x'.repeat(256), body))).toEqual([400, 'INVALID_ARGUMENT']);
});

test('what has a secret or a link is not kept; an erasure removes the kept answers of the tenant, but not that they were given', async () => {
  const hooks = await services[0].key(['webhooks:write', 'webhooks:read'], 'east');
  const body = { url: 'https://hooks.example' };
  const made = await post(0, '/v1/webhooks', hooks, 'hook-1', body);
  expect(made.status).toBe(201);
  expect(codeOf(await post(1, '/v1/webhooks', hooks, 'hook-1', body))).toEqual([409, 'IDEMPOTENCY_ONCE']);
  const place = `/v1/webhooks/${(JSON.parse(made.text) as { webhookId: string }).webhookId}`;
  expect((await post(0, `${place}/secrets`, hooks, 'secret-1', {})).status).toBe(200);
  expect(codeOf(await post(1, `${place}/secrets`, hooks, 'secret-1', {}))).toEqual([409, 'IDEMPOTENCY_ONCE']);
  const enabled = await post(0, `${place}/enable`, hooks, 'enable-1', {});
  expect(await post(1, `${place}/enable`, hooks, 'enable-1', {})).toEqual({ ...enabled, status: 200, replayed: 'true' });
  await installation.store.removal.removeUserEntries('east', 'user-1');
  expect(codeOf(await post(1, `${place}/enable`, hooks, 'enable-1', {}))).toEqual([409, 'IDEMPOTENCY_ONCE']);
});

test('answers are kept for a day; the key of a request of which nothing is heard is free again after a minute', async () => {
  const { requestAnswers } = installation.store;
  const [given, cut] = ['given', 'cut'].map((name) => ({ tenantId: 'late', request: Buffer.from(name), fingerprint: Buffer.from('same'), holder: name }));
  for (const one of [given!, cut!]) expect(await requestAnswers.begin(one)).toMatchObject({ state: 'begun' });
  await requestAnswers.answer(given!, 200, '{}');
  const client = new Client({ connectionString: installation.environment['DATABASE_URL'] });
  await client.connect();
  const age = (by: string) => client.query(`update request_answers set began_at = began_at - interval '${by}' where tenant_id = 'late'`);
  try {
    await age('50 seconds');
    expect([await requestAnswers.begin(given!), await requestAnswers.begin(cut!)]).toEqual([
      { state: 'answered', status: 200, body: '{}' },
      { state: 'running' },
    ]);
    await requestAnswers.keep([given!, cut!]);
    await age('50 seconds');
    expect(await requestAnswers.begin(cut!)).toEqual({ state: 'running' });
    await age('20 seconds');
    expect([await requestAnswers.begin(given!), await requestAnswers.begin(cut!)]).toMatchObject([{ state: 'answered' }, { state: 'begun' }]);
    await age('1 day');
    await requestAnswers.sweep();
    expect((await client.query(`select from request_answers where tenant_id = 'late'`)).rowCount).toBe(0);
  } finally {
    await client.end();
  }
});

test('input to a command is a stream that cannot be compared, and is refused with a key; long paths and keys are taken', async () => {
  const writer = await services[0].key(['sandbox:exec', 'files:write'], 'north');
  const refused = await post(0, '/v1/conversations/none/commands/run_1/stdin', writer, 'input-1', {});
  expect([codeOf(refused), refused.text]).toEqual([[400, 'INVALID_ARGUMENT'], expect.stringContaining('Idempotency-Key: this route takes none. Leave it out')]);
  const long = `/v1/conversations/none/files/${'long/'.repeat(600)}name`;
  expect(codeOf(await post(0, long, writer, 'k'.repeat(255), { action: 'createDirectory' }))).toEqual([404, 'CONVERSATION_NOT_FOUND']);
});

test('every POST that changes something takes an Idempotency-Key', () => {
  const { paths = {} } = services[0].api.swagger() as unknown as { paths?: Record<string, { post?: { parameters?: { name: string }[] } }> };
  const without = Object.entries(paths).filter(([, { post: route }]) => route && !route.parameters?.some(({ name }) => name === 'idempotency-key'));
  // The messages of a chat have ids, and requests to plugins those of their senders; the codec changes nothing; input to a command is refused with a key.
  const none = ['/api/chat', '/codec/decode', '/codec/encode', '/plugin-webhooks/{token}', '/v1/conversations/{id}/commands/{execId}/stdin'];
  expect(without.map(([path]) => path).toSorted()).toEqual(none);
});

test('an import that is repeated with its key makes one conversation, and another archive is refused', async () => {
  const headers = { ...(await services[0].key(['conversations:import'], 'north')), 'idempotency-key': 'import-1' };
  const archive = await archiveOf([{ role: 'user', content: [{ type: 'text', text: 'Ahoy.' }] }], [], { agentId: 'scripted' });
  const other = await archiveOf([], [], { agentId: 'scripted', exportedAt: '2027-02-01T09:00:00.000Z' });
  const send = async (at: number, bytes: Buffer) => {
    const answer = await fetch(`${services[at]!.url}/v1/conversations/import?files=false`, { method: 'POST', headers, body: new Uint8Array(bytes) });
    return { status: answer.status, said: (await answer.json()) as { conversationId?: string; code?: string } };
  };
  const first = await send(0, archive);
  expect(first.status).toBe(201);
  expect(await send(1, archive)).toEqual(first);
  expect(await send(1, other)).toMatchObject({ status: 409, said: { code: 'CONVERSATION_EXISTS' } });
  await installation.longshore.close(first.said.conversationId ?? '');
});
