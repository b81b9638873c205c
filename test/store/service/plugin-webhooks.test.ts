import { Client } from 'pg';
import { MOST_A_MINUTE } from '../../../src/contracts/plugins/webhook.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, newId, useTestStore } from '../support.ts';
import { atOnce } from './at-once.ts';

let store: Store;
let url: string;
useTestStore((opened) => {
  ({ store, url } = opened);
});

const secretSha256 = Buffer.alloc(32, 7);
let numbers = 0;
/** An address, and what is sent to it. */
async function address({ pluginId = newId('hook'), tenantId = 'north', endpoint = 'ship' } = {}) {
  const webhookId = `w${(numbers += 1)}`;
  await store.pluginWebhooks.add({ webhookId, pluginId, tenantId, endpoint, secretSha256 }, 20, BY);
  const accept = (requestId: string, more: { sender?: string; bytes?: number } = {}) =>
    store.pluginWebhooks.accept(webhookId, {
      requestId: `${webhookId}-${requestId}`,
      headers: { 'content-type': 'text/plain', odd: 'a\ud800' },
      body: Buffer.alloc(more.bytes ?? 1, requestId),
      ...(more.sender !== undefined && { senderSha256: Buffer.from(more.sender) }),
    });
  const claim = () => store.pluginWebhooks.claim({ pluginId, tenantId });
  const facts = async () => (await store.pluginWebhooks.list(pluginId)).find((each) => each.webhookId === webhookId);
  return { pluginId, webhookId, tenantId, accept, claim, facts, id: (name: string) => `${webhookId}-${name}` };
}

test('a plugin has no more addresses for a tenant than the limit, also when they are made at once', async () => {
  const pluginId = newId('hook');
  const make = (number: number) =>
    store.pluginWebhooks.add({ webhookId: `${pluginId}-${number}`, pluginId, tenantId: 'north', endpoint: 'ship', secretSha256 }, 3, BY);
  const made = await atOnce(
    url,
    Array.from({ length: 6 }, (_, number) => () => make(number)),
  );
  expect(made.filter((webhook) => webhook !== undefined)).toHaveLength(3);
  expect(await store.pluginWebhooks.list(pluginId)).toHaveLength(3);
});

test('requests of an address are given one after the other, in the order in which they came, and those of others meanwhile', async () => {
  const one = await address();
  const other = await address({ pluginId: one.pluginId, endpoint: 'storm' });
  for (const name of ['a', 'b']) await one.accept(name);
  await other.accept('c');
  expect(await store.pluginWebhooks.due()).toContainEqual({ pluginId: one.pluginId, tenantId: 'north' });
  const first = await one.claim();
  expect(first).toMatchObject({ requestId: one.id('a'), endpoint: 'ship', attempts: 0, headers: { 'content-type': 'text/plain' } });
  expect([first?.body.toString(), first?.begunAt]).toEqual(['a', undefined]);
  expect((await one.claim())?.requestId).toBe(other.id('c'));
  expect(await one.claim()).toBeUndefined();
  await store.pluginWebhooks.end(one.id('a'));
  await store.pluginWebhooks.end(one.id('a'), 'a second end does not count');
  expect((await one.claim())?.requestId).toBe(one.id('b'));
  expect(await one.facts()).toMatchObject({ waiting: 1, delivered: 1, failed: 0, lastAt: expect.any(String) as string });
  expect((await one.facts())?.problem).toBeUndefined();
});

test('when the call began is noted once; a request that certainly was not called is another attempt later', async () => {
  const { accept, claim, id, facts } = await address();
  await accept('a');
  await claim();
  const begun = await store.pluginWebhooks.begin({ requestId: id('a'), attempts: 0 });
  expect(await store.pluginWebhooks.begin({ requestId: id('a'), attempts: 0 })).toEqual(begun);
  await store.pluginWebhooks.postpone({ requestId: id('a'), attempts: 3 }, 0);
  expect(await claim()).toBeUndefined();
  await store.pluginWebhooks.postpone({ requestId: id('a'), attempts: 0 }, 0);
  const again = await claim();
  expect([again?.attempts, again?.begunAt]).toEqual([1, undefined]);
  // A worker that has been late with the first attempt must not call the function beside the second one.
  expect(await store.pluginWebhooks.begin({ requestId: id('a'), attempts: 0 })).toBeUndefined();
  expect(await store.pluginWebhooks.begin({ requestId: id('a'), attempts: 1 })).toBeInstanceOf(Date);
  await store.pluginWebhooks.end(id('a'), 'it is broken\0');
  expect(await facts()).toMatchObject({ waiting: 0, failed: 1, problem: 'it is broken\uFFFD' });
});

test('a request that its sender repeats is known, unless it has failed', async () => {
  const { accept, id } = await address();
  expect(await accept('a', { sender: 'x' })).toEqual({ outcome: 'accepted', requestId: id('a') });
  expect(await accept('b', { sender: 'x' })).toEqual({ outcome: 'known', requestId: id('a') });
  expect(await accept('c', { sender: 'y' })).toEqual({ outcome: 'accepted', requestId: id('c') });
  await store.pluginWebhooks.end(id('a'));
  expect(await accept('d', { sender: 'x' })).toEqual({ outcome: 'known', requestId: id('a') });
  await store.pluginWebhooks.end(id('c'), 'failed');
  expect(await accept('e', { sender: 'y' })).toEqual({ outcome: 'accepted', requestId: id('e') });
});

test('an address takes so many requests within a minute, and so many bytes may wait', async () => {
  const [often, full] = [await address(), await address()];
  for (let count = 0; count < MOST_A_MINUTE; count += 1) await often.accept(String(count));
  expect(await often.accept('more')).toEqual({ outcome: 'often' });
  for (let count = 0; count < 50; count += 1) await full.accept(String(count), { bytes: 1_000_000 });
  expect(await full.accept('more')).toEqual({ outcome: 'full' });
  await store.pluginWebhooks.end(full.id('0'));
  expect(await full.accept('again')).toMatchObject({ outcome: 'accepted' });
}, 60_000);

test('a plugin has so many addresses of a tenant; one that was removed takes nothing and gives nothing', async () => {
  const one = await address();
  await one.accept('a');
  const more = { webhookId: 'w-more', pluginId: one.pluginId, tenantId: 'north', endpoint: 'storm', secretSha256 };
  expect(await store.pluginWebhooks.add(more, 1, BY)).toBeUndefined();
  expect(await store.pluginWebhooks.remove('another', one.webhookId, BY)).toBe(false);
  expect(await store.pluginWebhooks.remove(one.pluginId, one.webhookId, BY)).toBe(true);
  expect([
    await one.claim(),
    await store.pluginWebhooks.begin({ requestId: one.id('a'), attempts: 0 }),
    await store.pluginWebhooks.find(one.webhookId),
  ]).toEqual([undefined, undefined, undefined]);
  expect(await one.accept('b')).toEqual({ outcome: 'ended' });
  const entries = await store.audit.list({ limit: 2 });
  expect(entries.map(({ action, tenantId, target }) => [action, tenantId, target])).toEqual([
    ['plugin.webhook-remove', 'north', one.pluginId],
    ['plugin.webhook-add', 'north', one.pluginId],
  ]);
});

test('the work of a tenant neither sees nor fills the addresses of another one', async () => {
  await store.prepareTenants();
  const one = await address();
  await asTenant('north', async () => expect(await one.accept('a')).toMatchObject({ outcome: 'accepted' }));
  await asTenant('south', async () => {
    expect(await one.accept('b')).toEqual({ outcome: 'ended' });
    expect([await store.pluginWebhooks.list(one.pluginId), await one.claim()]).toEqual([[], undefined]);
  });
});

test('what could not be delivered for a day has failed, and what ended a day ago is forgotten', async () => {
  const [late, begun, held, over] = [await address(), await address(), await address(), await address()];
  for (const each of [late, begun, held, over]) await each.accept('a', { sender: 'x' });
  await store.pluginWebhooks.begin({ requestId: begun.id('a'), attempts: 0 });
  await store.pluginWebhooks.end(over.id('a'));
  const database = new Client(url);
  await database.connect();
  await database.query(`update plugin_requests set received_at = now() - interval '25 hours' where request_id = any($1)`, [
    [late, begun, held].map(({ id }) => id('a')),
  ]);
  await database.query(`update plugin_requests set ended_at = now() - interval '25 hours' where request_id = $1`, [over.id('a')]);
  await database.end();
  await store.pluginWebhooks.hold(held.id('a'));
  await store.pluginWebhooks.sweep();
  expect(await late.facts()).toMatchObject({
    waiting: 0,
    failed: 1,
    problem: 'it could not be delivered within 24 hours; its plugin may not have been loaded',
  });
  expect(await begun.facts()).toMatchObject({ failed: 1, problem: 'its delivery had begun, and no worker could tell within 24 hours how it went' });
  // A worker has it.
  expect(await held.facts()).toMatchObject({ waiting: 1, failed: 0 });
  expect(await over.accept('b', { sender: 'x' })).toMatchObject({ outcome: 'accepted' });
});
