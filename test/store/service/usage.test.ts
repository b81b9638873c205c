import type { Store } from '../../../src/store/store.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import { withClient } from '../../../src/store/database/with-client.ts';
import type { Usage } from '../../../src/contracts/usage.ts';
import { newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));
beforeAll(() => store.prepareTenants());

const EVER = { from: '1970-01-01T00:00:00.000Z', to: '9990-01-01T00:00:00.000Z' };
const NONE = { calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, knownCostUsd: 0, unpricedCalls: 0 };

function answer(conversationId: string, usage: Usage, { stepId = newId('step'), model = 'a/b' } = {}): Promise<boolean> {
  return store.transcript.addAnswer({ conversationId, turnId: 'turn_1', stepId }, { role: 'assistant', parts: [{ type: 'text', text: 'Hi' }], usage }, model);
}

test('the answer of a step and its usage are stored together, and once', async () => {
  const conversationId = await newConversation(store, { tenantId: 'once' });
  const usage = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 1, costUsd: 0.1 };
  const place = { stepId: 'step_1' };
  const added = await Promise.all(Array.from({ length: 8 }, (_, index) => answer(conversationId, { ...usage, outputTokens: index }, place)));
  expect(added.filter(Boolean)).toHaveLength(1);
  expect(await answer(conversationId, usage, place)).toBe(false);
  const [entry] = await store.transcript.read(conversationId);
  const { outputTokens } = (entry!.entry as { usage: Usage }).usage;
  const total = { ...NONE, calls: 1, inputTokens: 10, outputTokens, cacheReadTokens: 4, cacheWriteTokens: 1, costUsd: 0.1, knownCostUsd: 0.1 };
  expect(await store.usage.total({ ...EVER, tenantId: 'once' })).toEqual(total);
  expect((await store.conversations.get(conversationId))?.status.usage).toEqual(total);
});

test('a conversation without an answer has no usage, and one that does not exist takes none', async () => {
  const conversationId = await newConversation(store);
  expect((await store.conversations.get(conversationId))?.status).not.toHaveProperty('usage');
  await expect(answer('conv_none', { inputTokens: 1, outputTokens: 1 })).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a sum is exact, and a cost that is not known is never nothing', async () => {
  const conversationId = await newConversation(store, { tenantId: 'sums' });
  for (let call = 0; call < 10; call += 1) await answer(conversationId, { inputTokens: 1, outputTokens: 1, costUsd: 0.1 });
  await answer(conversationId, { inputTokens: 1, outputTokens: 1, costUsd: 0.000000005 });
  expect(await store.usage.total({ ...EVER, tenantId: 'sums' })).toMatchObject({ calls: 11, costUsd: 1.000000005, unpricedCalls: 0 });
  await answer(conversationId, { inputTokens: 1, outputTokens: 1, costUsd: null });
  await answer(conversationId, { inputTokens: 1, outputTokens: 1 });
  const total = { calls: 13, costUsd: null, knownCostUsd: 1.000000005, unpricedCalls: 2 };
  expect(await store.usage.total({ ...EVER, tenantId: 'sums' })).toMatchObject(total);
  expect(await store.usage.recent('sums', 86_400_000)).toMatchObject(total);
  expect(await store.usage.recent('sums', 0)).toEqual(NONE);
  expect(await store.usage.recent('another', 86_400_000)).toEqual(NONE);
});

test('lines are by agent, user, conversation, model, tenant and day; users of two tenants are two, and pages have no gaps', async () => {
  const tenants = ['group-a', 'group-b'];
  const ids: string[] = [];
  for (const tenantId of tenants) {
    for (const userId of ['same', `of-${tenantId}`]) {
      const id = await newConversation(store, { tenantId, userId, agentId: 'grouped' });
      ids.push(id);
      await answer(id, { inputTokens: 10, outputTokens: 1, costUsd: 1 }, { model: `m/${userId}` });
    }
  }
  const filter = { ...EVER, agentId: 'grouped' };
  const keys = async (group: Parameters<Store['usage']['lines']>[1]['group'], more = {}) =>
    (await store.usage.lines({ ...filter, ...more }, { group, limit: 100 })).map(({ key, tenantId, calls }) => [key, tenantId, calls]);
  expect(await keys('agent')).toEqual([['grouped', undefined, 4]]);
  expect(await keys('tenant')).toEqual([['group-a', undefined, 2], ['group-b', undefined, 2]]); // prettier-ignore
  expect(await keys('user')).toEqual([['of-group-a', 'group-a', 1], ['of-group-b', 'group-b', 1], ['same', 'group-a', 1], ['same', 'group-b', 1]]); // prettier-ignore
  expect(await keys('user', { tenantId: 'group-a' })).toEqual([['of-group-a', 'group-a', 1], ['same', 'group-a', 1]]); // prettier-ignore
  expect(await keys('model', { userId: 'same' })).toEqual([['m/same', undefined, 2]]);
  expect((await keys('conversation')).map(([key]) => key)).toEqual(ids.toSorted());
  expect(await keys('day')).toEqual([[new Date().toISOString().slice(0, 10), undefined, 4]]);
  const paged: unknown[] = [];
  for (let after: { key: string; tenantId?: string } | undefined; ;) {
    const [line] = await store.usage.lines(filter, { group: 'user', limit: 1, ...(after && { after }) });
    if (!line) break;
    paged.push([line.key, line.tenantId, line.calls]);
    after = line;
  }
  expect(paged).toEqual(await keys('user'));
});

test('a period counts what lies in it', async () => {
  const conversationId = await newConversation(store, { tenantId: 'period' });
  const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString();
  await answer(conversationId, { inputTokens: 1, outputTokens: 1 });
  const total = (from: string, to: string) => store.usage.total({ from, to, tenantId: 'period' });
  expect(await total(minutes(-1), minutes(1))).toMatchObject({ calls: 1 });
  expect(await total(minutes(1), EVER.to)).toEqual(NONE);
  expect(await total(EVER.from, minutes(-1))).toEqual(NONE);
});

test('what a removed conversation has used in the last day still counts for the limits of its tenant', async () => {
  const [kept, removed, old] = await Promise.all(['kept', 'gone', 'old'].map((userId) => newConversation(store, { tenantId: 'leaves', userId })));
  for (const id of [kept, removed]) await answer(id!, { inputTokens: 10, outputTokens: 1, costUsd: 0.5 });
  await answer(removed!, { inputTokens: 1, outputTokens: 1, cacheReadTokens: 1 });
  await answer(old!, { inputTokens: 100, outputTokens: 100 });
  await withClient(url, (client) => client.query(`update model_calls set at = now() - interval '25 hours' where conversation_id = $1`, [old]));
  const before = await store.usage.recent('leaves', 86_400_000);
  expect(before).toEqual({ ...NONE, calls: 3, inputTokens: 21, outputTokens: 3, cacheReadTokens: 1, costUsd: null, knownCostUsd: 1, unpricedCalls: 1 });
  for (const id of [removed!, old!]) {
    await store.conversations.close(id, { by: 'test' });
    expect(await store.removal.begin(id)).toBe(true);
    expect(await store.removal.finish(id)).toBe(true);
  }
  expect(await store.usage.recent('leaves', 86_400_000)).toEqual(before);
  expect(await asTenant('leaves', () => store.usage.recent('leaves', 86_400_000))).toEqual(before);
  expect(await asTenant('another', () => store.usage.recent('leaves', 86_400_000))).toEqual(NONE);
  // What is older than a day is kept in the sums of days alone.
  await withClient(url, (client) => client.query(`update removed_calls set at = now() - interval '25 hours' where tenant_id = 'leaves'`));
  await store.removal.sweep();
  expect(await store.usage.recent('leaves', 7 * 86_400_000)).toMatchObject({ calls: 1 });
  expect(await store.usage.total({ ...EVER, tenantId: 'leaves' })).toMatchObject({ calls: 4 });
});
