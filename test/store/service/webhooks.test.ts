import { Client } from 'pg';
import type { NewWebhook } from '../../../src/store/service/webhook-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, newConversation, newId, useTestStore } from '../support.ts';
import { atOnce } from './at-once.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const DAY_MS = 86_400_000;
const note = (text: string) => ({ type: 'note' as const, data: { text } });

async function newWebhook(more: Partial<NewWebhook> = {}): Promise<{ webhookId: string; tenantId: string }> {
  const webhook = { webhookId: newId('hook'), tenantId: newId('evt'), url: 'http://a.example', secret: 'whsec_', ...more };
  await store.webhooks.create(webhook, 20, BY);
  return webhook;
}

/** Takes all that waits, as `seq type` of each event. */
async function drain(webhookId: string): Promise<string[]> {
  const taken: string[] = [];
  await store.webhooks.begin(webhookId, 'test');
  for (;;) {
    const task = await store.webhooks.next(webhookId, 'test', 1000);
    if (!task?.delivery) return taken;
    const { deliveryId, seq, event } = task.delivery;
    taken.push(`${seq} ${event?.event.type}`);
    await store.webhooks.delivered({ webhookId, deliveryId, tookMs: 1, status: 200 }, task);
  }
}

async function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

test('a webhook gets events of its tenant only, of its agents and its types only', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const { webhookId: chosen } = await newWebhook({ tenantId, types: ['text.delta', 'note'], agents: ['fixer'] });
  const { webhookId: other } = await newWebhook({ tenantId, agents: ['reviewer'] });
  const { webhookId: foreign } = await newWebhook();
  const conversationId = await newConversation(store, { tenantId });
  await store.events.append(conversationId, [note('a'), { type: 'text.delta', data: { text: 'b' } }]);
  expect(await drain(webhookId)).toEqual(['1 conversation.started', '2 note']);
  expect(await drain(chosen)).toEqual(['2 note', '3 text.delta']);
  expect(await drain(other)).toEqual([]);
  expect(await drain(foreign)).toEqual([]);
});

test('a tenant has no more webhooks than the limit, also when they are made at once', async () => {
  const tenantId = newId('evt');
  const make = () => store.webhooks.create({ webhookId: newId('hook'), tenantId, url: 'http://a.example', secret: 'whsec_' }, 3, BY);
  const made = await atOnce(
    url,
    Array.from({ length: 6 }, () => make),
  );
  expect(made.filter((webhook) => webhook !== undefined)).toHaveLength(3);
  expect(await store.webhooks.list(tenantId)).toHaveLength(3);
});

test('for a tenant without webhooks, nothing is queued', async () => {
  await newWebhook();
  const conversationId = await newConversation(store, { tenantId: 'nobody' });
  await store.events.append(conversationId, [note('a')]);
  expect(await sql('select 1 from webhook_deliveries where conversation_id = $1', [conversationId])).toEqual([]);
});

test('a disabled webhook collects nothing; enabled again, it sends what waited, and a replay the rest, each event once', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const since = new Date();
  const conversationId = await newConversation(store, { tenantId });
  await store.webhooks.change(webhookId, { state: 'disabled' }, BY);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ state: 'disabled', why: 'it was disabled by hand', waiting: 1 });
  await store.events.append(conversationId, [note('a')]);
  expect(await drain(webhookId)).toEqual([]);
  expect(await store.webhooks.change(webhookId, { state: 'active' }, BY)).not.toHaveProperty('why');
  await store.events.append(conversationId, [note('b')]);
  expect(await store.webhooks.replaySince(webhookId, since, 100)).toBe(3);
  expect(await drain(webhookId)).toEqual(['1 conversation.started', '2 note', '3 note']);
});

test('a replay that would queue too much queues nothing', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const conversationId = await newConversation(store, { tenantId });
  await store.events.append(conversationId, [note('a'), note('b')]);
  expect(await drain(webhookId)).toHaveLength(3);
  expect(await store.webhooks.replaySince(webhookId, new Date(0), 2)).toBeUndefined();
  expect(await store.webhooks.replayFrom(webhookId, { conversationId, seq: 1 }, 2)).toBeUndefined();
  expect(await drain(webhookId)).toEqual([]);
  expect(await store.webhooks.replayFrom(webhookId, { conversationId, seq: 2 }, 2)).toBe(2);
  expect(await drain(webhookId)).toEqual(['2 note', '3 note']);
  expect(await store.webhooks.replayFrom(webhookId, { conversationId, seq: 9 }, 2)).toBe(0);
});

test('of two runs of a sender, only the newer one gets events', async () => {
  const { webhookId, tenantId } = await newWebhook();
  await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'old');
  await store.webhooks.begin(webhookId, 'new');
  expect(await store.webhooks.next(webhookId, 'old', 1000)).toBeUndefined();
  expect((await store.webhooks.next(webhookId, 'new', 1000))?.delivery).toMatchObject({ seq: 1 });
});

test('an endpoint is due when events wait, once in a minute; one that fails is due after its pause', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const isDue = async () => (await store.webhooks.claimDue()).includes(webhookId);
  expect(await isDue()).toBe(false);
  await newConversation(store, { tenantId });
  expect([await isDue(), await isDue()]).toEqual([true, false]);
  await store.webhooks.begin(webhookId, 'test');
  const task = (await store.webhooks.next(webhookId, 'test', 1000))!;
  const { deliveryId = '' } = task.delivery ?? {};
  expect(await store.webhooks.failed({ webhookId, deliveryId, tookMs: 2, status: 500, problem: 'it answered 500' }, task, 5_000)).toBe(true);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ failures: 1, waiting: 1, failingSince: expect.any(String) });
  expect(await isDue()).toBe(false);
  // A new address is tried at once.
  expect(await store.webhooks.change(webhookId, { url: 'http://b.example' }, BY)).toMatchObject({ failures: 0 });
  expect(await isDue()).toBe(true);
  expect(await drain(webhookId)).toEqual(['1 conversation.started']);
  expect(await store.webhooks.attempts(webhookId, { limit: 5 })).toMatchObject([
    { outcome: 'delivered', status: 200, type: 'conversation.started' },
    { outcome: 'failed', status: 500, problem: 'it answered 500', retryAt: expect.any(String) },
  ]);
});

test('what is older than the limit is removed, but for what waits for an active webhook', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const conversationId = await newConversation(store, { tenantId });
  expect(await drain(webhookId)).toHaveLength(1);
  await store.events.append(conversationId, [note('a')]);
  await sql(`update webhook_deliveries set queued_at = now() - interval '8 days' where webhook_id = $1`, [webhookId]);
  await sql(`update webhook_attempts set at = now() - interval '8 days' where webhook_id = $1`, [webhookId]);
  expect(await store.webhooks.sweep(7 * DAY_MS)).toBe(2);
  expect(await store.webhooks.attempts(webhookId, { limit: 5 })).toEqual([]);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ waiting: 1 });
  await store.webhooks.change(webhookId, { state: 'disabled' }, BY);
  expect(await store.webhooks.sweep(7 * DAY_MS)).toBe(1);
});

test('an event that is too large comes without its data, and one that retention has removed is told', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const conversationId = await newConversation(store, { tenantId });
  await store.events.append(conversationId, [note('x'.repeat(2000))]);
  expect(await drain(webhookId)).toHaveLength(2);
  await store.webhooks.replayFrom(webhookId, { conversationId, seq: 2 }, 10);
  await store.webhooks.begin(webhookId, 'test');
  const large = await store.webhooks.next(webhookId, 'test', 1000);
  expect(large?.delivery?.event).toMatchObject({ agentId: 'fixer', userId: 'user-1', bytes: 2011 });
  expect(large?.delivery?.event?.event).not.toHaveProperty('data');
  await sql('delete from events where conversation_id = $1 and seq = 2', [conversationId]);
  const removed = await store.webhooks.next(webhookId, 'test', 1000);
  expect(removed?.delivery).toEqual({ deliveryId: large?.delivery?.deliveryId, conversationId, seq: 2 });
});

test('the failure of an attempt neither delays nor disables an endpoint that was changed or enabled meanwhile', async () => {
  const { webhookId, tenantId } = await newWebhook();
  await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'test');
  const next = async () => (await store.webhooks.next(webhookId, 'test', 1000))!;
  const attempt = { webhookId, deliveryId: (await next()).delivery?.deliveryId ?? '', tookMs: 2, problem: 'no answer' };
  expect(await store.webhooks.failed(attempt, await next(), 5_000)).toBe(true);
  for (const change of [{ url: 'http://b.example' }, { state: 'active' }] as const) {
    const before = await next();
    expect(before.failures).toBe(1);
    const changed = await store.webhooks.change(webhookId, change, BY);
    expect(await store.webhooks.failed(attempt, before, 3_600_000)).toBe(false);
    expect(await store.webhooks.disable({ ...attempt, status: 410 }, before, 'it is gone')).toBe(false);
    expect(await store.webhooks.get(webhookId)).toEqual(changed);
    // The sender is woken at once.
    expect(await store.webhooks.claimDue()).toContain(webhookId);
    expect(await store.webhooks.failed(attempt, await next(), 5_000)).toBe(true);
  }
  const attempts = await store.webhooks.attempts(webhookId, { limit: 3 });
  expect(attempts.map(({ outcome, retryAt }) => [outcome, retryAt !== undefined])).toEqual([
    ['failed', true],
    ['failed', false],
    ['failed', false],
  ]);
  expect(await store.webhooks.disable({ ...attempt, status: 410 }, await next(), 'it is gone')).toBe(true);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ state: 'disabled', why: 'it is gone', failures: 2 });
});

test('a message that is under way while its endpoint gets another address is sent there, too; who took it at the old one says nothing about the new one', async () => {
  const { webhookId, tenantId } = await newWebhook();
  const conversationId = await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'test');
  const before = (await store.webhooks.next(webhookId, 'test', 1000))!;
  const attempt = { webhookId, deliveryId: before.delivery?.deliveryId ?? '', tookMs: 2 };
  await store.webhooks.change(webhookId, { url: 'http://b.example' }, BY);
  expect(await store.webhooks.failed({ ...attempt, problem: 'no answer' }, { url: 'http://b.example', failures: 0 }, 5_000)).toBe(true);
  await store.webhooks.delivered(attempt, before);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ failures: 1, waiting: 1 });
  const again = await store.webhooks.next(webhookId, 'test', 1000);
  expect(again).toMatchObject({ url: 'http://b.example', delivery: { conversationId, seq: 1 } });
  await store.webhooks.delivered(attempt, again!);
  expect(await store.webhooks.get(webhookId)).toMatchObject({ failures: 0, waiting: 0 });
  expect((await store.webhooks.attempts(webhookId, { limit: 5 })).map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered', 'failed']);
});

test('an event that cannot be sent any more does not make a failing endpoint a healthy one', async () => {
  const { webhookId, tenantId } = await newWebhook();
  await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'test');
  const task = (await store.webhooks.next(webhookId, 'test', 1000))!;
  const attempt = { webhookId, deliveryId: task.delivery?.deliveryId ?? '', tookMs: 0, problem: 'it is gone' };
  await store.webhooks.failed(attempt, task, 5_000);
  const failing = await store.webhooks.get(webhookId);
  await store.webhooks.dropped(attempt);
  expect(await store.webhooks.get(webhookId)).toEqual({ ...failing, waiting: 0 });
  expect((await store.webhooks.attempts(webhookId, { limit: 1 })).map(({ outcome }) => outcome)).toEqual(['dropped']);
});
