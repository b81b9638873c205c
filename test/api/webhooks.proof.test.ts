import { connect, type Longshore, type Webhook } from '../../src/client.ts';
import { install, until, type Installation, type WorkerProcess } from '../e2e/support.ts';
import { isSignedWith, openReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startApi, type TestApi } from './support.ts';

/** Webhooks as a tenant has them: made over HTTP, sent by a worker of its own process to servers of this one. */
let installation: Installation;
let service: TestApi;
let worker: WorkerProcess;
/** The client of tenant `north`. */
let north: Longshore;
const opened: AsyncDisposable[] = [];

beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  Object.assign(installation.environment, {
    LONGSHORE_WEBHOOK_ADDRESSES: '127.0.0.1',
    LONGSHORE_WEBHOOK_PAUSES: '100ms,300ms',
    LONGSHORE_WEBHOOK_GIVE_UP: '10m',
  });
  worker = installation.startWorker();
  await worker.ready;
  service = await startApi(installation);
  const { authorization } = await service.key(['conversations:read', 'conversations:write', 'webhooks:read', 'webhooks:write'], 'north');
  north = await connect({ url: service.url, apiKey: authorization.slice('Bearer '.length) });
}, 180_000);
afterEach(async () => {
  for (const { webhookId } of await installation.longshore.webhooks.list()) await installation.longshore.webhooks.delete(webhookId);
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});
afterAll(async () => {
  for (const { id } of (await installation.longshore.list({ limit: 200 })).map(({ conversationId: id }) => ({ id }))) await installation.longshore.close(id);
  await north[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

async function receive(more: object = {}): Promise<{ receiver: Receiver; webhook: Webhook & { secret: string } }> {
  const receiver = await openReceiver();
  opened.push(receiver);
  return { receiver, webhook: await north.webhooks.create({ url: receiver.url, ...more }) };
}

async function converse(): Promise<string> {
  const { id } = await north.start({ agent: 'scripted', user: 'user-1', message: 'Ahoy.', closeWhenDone: true });
  for await (const _ of north.events(id));
  return id;
}

/** What a webhook of the usual types should get of a conversation. */
async function expected(conversationId: string): Promise<string[]> {
  const events = await installation.store.events.read(conversationId, 0);
  return events.filter(({ type }) => type !== 'text.delta').map(({ seq, type }) => `evt_${seq}_${conversationId} ${type}`);
}

function got({ received }: Receiver, conversationId: string): string[] {
  return received.filter(({ id }) => id.endsWith(conversationId)).map(({ id, payload: { type } }) => `${id} ${type}`);
}

async function untilGot(receiver: Receiver, conversationId: string): Promise<void> {
  const all = await expected(conversationId);
  await until(async () => got(receiver, conversationId).at(-1) === all.at(-1), `the receiver has ${all.length} messages`);
  expect(got(receiver, conversationId)).toEqual(all);
}

test('each event of a conversation arrives signed, in order, with what the log has', async () => {
  const { receiver, webhook } = await receive();
  expect(webhook).toMatchObject({ tenantId: 'north', state: 'active', failures: 0, secret: expect.stringMatching(/^whsec_/) });
  const id = await converse();
  await untilGot(receiver, id);
  expect(receiver.received.every((message) => isSignedWith(webhook.secret, message))).toBe(true);
  const [started] = await installation.store.events.read(id, 0);
  expect(receiver.received[0]?.payload).toEqual({
    type: 'conversation.started',
    timestamp: started?.at,
    data: { ...started, agentId: 'scripted', userId: 'user-1', tenantId: 'north' },
  });
  const { webhookId } = webhook;
  await until(async () => (await north.webhooks.get(webhookId)).waiting === 0, 'nothing waits');
  const { attempts, next } = await north.webhooks.attempts(webhookId, { limit: 2 });
  expect(attempts).toMatchObject([{ outcome: 'delivered', status: 200, type: 'conversation.closed' }, { outcome: 'delivered' }]);
  const older = await north.webhooks.attempts(webhookId, { cursor: next ?? '' });
  expect([...attempts, ...older.attempts].map(({ messageId, type }) => `${messageId} ${type}`).toReversed()).toEqual(await expected(id));
  expect(JSON.stringify(await north.webhooks.list())).not.toContain('whsec_');
}, 60_000);

test('a receiver that was away gets all of it in order, and keeps no other waiting', async () => {
  const { receiver, webhook } = await receive();
  const { receiver: slow } = await receive();
  slow.answer = () => undefined;
  const { receiver: other } = await receive();
  await receiver.goAway();
  const ids = await Promise.all([converse(), converse(), converse()]);
  for (const id of ids) await untilGot(other, id);
  await until(async () => (await north.webhooks.get(webhook.webhookId)).failures >= 2, 'two attempts have failed');
  await receiver.comeBack();
  for (const id of ids) await untilGot(receiver, id);
  expect(new Set(slow.received.map(({ id }) => id)).size).toBe(1);
  const { attempts } = await north.webhooks.attempts(webhook.webhookId, { limit: 200 });
  expect(attempts.at(-1)).toMatchObject({ outcome: 'failed', problem: expect.stringContaining('ECONNREFUSED'), retryAt: expect.any(String) });
}, 60_000);

test('a message under way when its worker is killed is sent again by the next, with the same id', async () => {
  const { receiver } = await receive({ types: ['turn.finished', 'conversation.closed'] });
  receiver.answer = () => undefined;
  const id = await converse();
  await until(async () => receiver.received.length === 1, 'a message is under way');
  await worker.kill();
  receiver.answer = (response) => response.end();
  // The tests after this one need an end soon.
  installation.environment['LONGSHORE_WEBHOOK_GIVE_UP'] = '2s';
  worker = installation.startWorker();
  const ids = () => receiver.received.map(({ id: messageId, payload: { type } }) => `${messageId.replace(/\d+/, '#')} ${type}`);
  await until(async () => receiver.received.length === 3, 'the next worker has sent both');
  expect(ids()).toEqual([`evt_#_${id} turn.finished`, `evt_#_${id} turn.finished`, `evt_#_${id} conversation.closed`]);
  expect(receiver.received[0]?.id).toBe(receiver.received[1]?.id);
  await worker.ready;
}, 90_000);

test('while a secret is rotated, both sign; then only the new one', async () => {
  const { receiver, webhook } = await receive({ types: ['conversation.started'] });
  const signers = async (...secrets: string[]) => {
    receiver.received.length = 0;
    expect(await north.webhooks.test(webhook.webhookId)).toMatchObject({ delivered: true, status: 200 });
    expect(receiver.received[0]?.payload).toMatchObject({ type: 'test', data: { webhookId: webhook.webhookId } });
    return secrets.map((secret) => isSignedWith(secret, receiver.received[0]!));
  };
  const rotated = await north.webhooks.rotate(webhook.webhookId);
  expect(Date.parse(rotated.oldSecretUntil ?? '') - Date.now()).toBeGreaterThan(86_000_000);
  expect(await signers(webhook.secret, rotated.secret)).toEqual([true, true]);
  const again = await north.webhooks.rotate(webhook.webhookId, { overlap: 0 });
  expect(await signers(webhook.secret, rotated.secret, again.secret)).toEqual([false, false, true]);
  const { entries } = await installation.longshore.audit.list({ target: webhook.webhookId });
  expect(entries.map(({ action, actor: { kind }, tenantId }) => `${action} ${kind} ${tenantId}`)).toEqual([
    'webhook.rotate key north',
    'webhook.rotate key north',
    'webhook.create key north',
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/whsec_|hooks/);
}, 60_000);

test('an endpoint that fails for too long is disabled, and says so; enabled again with a replay, it gets all', async () => {
  const { receiver, webhook } = await receive();
  receiver.answer = (response) => response.writeHead(500).end();
  const since = new Date();
  const missed = await converse();
  const { webhookId } = webhook;
  await until(async () => (await north.webhooks.get(webhookId)).state === 'disabled', 'it is disabled');
  expect(await north.webhooks.get(webhookId)).toMatchObject({ why: expect.stringMatching(/^it has failed for \d s, the last time because: it answered 500$/) });
  const [last] = (await north.webhooks.attempts(webhookId)).attempts;
  expect(last).toMatchObject({ outcome: 'disabled', status: 500, problem: 'it answered 500' });
  const later = await converse();
  receiver.received.length = 0;
  receiver.answer = (response) => response.end();
  expect(await north.webhooks.enable(webhookId)).toMatchObject({ state: 'active', failures: 0 });
  await untilGot(receiver, missed);
  expect(got(receiver, later)).toEqual([]);
  await north.webhooks.replay(webhookId, { since });
  await untilGot(receiver, later);
  receiver.received.length = 0;
  const from = (await expected(later)).at(-2)?.split(' ')[0] ?? '';
  expect(await north.webhooks.replay(webhookId, { from })).toEqual({ queued: 2 });
  await until(async () => receiver.received.length === 2, 'both are sent again');
}, 60_000);

test('an answer 410 ends it at once; another address and the same are tried at once', async () => {
  const { receiver, webhook } = await receive({ types: ['conversation.started'] });
  receiver.answer = (response) => response.writeHead(410).end();
  const id = await converse();
  await until(async () => (await north.webhooks.get(webhook.webhookId)).state === 'disabled', 'it is disabled');
  expect((await north.webhooks.get(webhook.webhookId)).why).toBe('it answered 410: it wants no more messages');
  const elsewhere = await openReceiver();
  opened.push(elsewhere);
  await north.webhooks.update(webhook.webhookId, { url: elsewhere.url, state: 'active' });
  await until(async () => elsewhere.received.length === 1, 'it is sent elsewhere');
  expect(elsewhere.received[0]?.id).toBe(`evt_1_${id}`);
}, 60_000);

test('addresses inside are refused, and what cannot be a webhook says what to do', async () => {
  const inside = await north.webhooks.create({ url: 'http://127.0.0.2:1/' });
  expect(await north.webhooks.test(inside.webhookId)).toMatchObject({
    delivered: false,
    problem: expect.stringContaining('an operator can allow it in LONGSHORE_WEBHOOK_ADDRESSES'),
  });
  await expect(north.webhooks.create({ url: 'file:///etc/passwd' })).rejects.toThrow('it is not an absolute http or https URL');
  await expect(north.webhooks.create({ url: 'https://me:pw@a.example/' })).rejects.toThrow('it has credentials');
  await expect(north.webhooks.create({ url: 'https://a.example', tenant: 'south' })).rejects.toThrow('it is not the tenant of this key');
  await expect(north.webhooks.replay(inside.webhookId, {})).rejects.toThrow('Give a time, or a webhook-id');
  await expect(north.webhooks.replay(inside.webhookId, { from: 'evt_1_conv_none' })).rejects.toThrow('no message of that id was queued');
  await expect(north.webhooks.replay(inside.webhookId, { since: 'soon' })).rejects.toThrow('it is no time');
  await expect(north.webhooks.attempts(inside.webhookId, { cursor: 'x' })).rejects.toThrow('Give the `next` of the page before');
  await expect(north.webhooks.get('hook_none')).rejects.toThrow('No webhook "hook_none". List them with: longshore webhooks ls');
  for (let count = 1; count < 20; count += 1) await north.webhooks.create({ url: 'https://a.example' });
  await expect(north.webhooks.create({ url: 'https://a.example' })).rejects.toThrow('The tenant north has 20 webhooks');
}, 60_000);
