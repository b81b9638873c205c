import { randomBytes } from 'node:crypto';
import { ATTACHMENT_LIMITS, type StoredMedia } from '../../../src/contracts/attachments/media.ts';
import { blobOf } from '../../../src/store/conversation/media.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, useTestStore } from '../support.ts';
import { Client } from 'pg';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const text = (said: string) => ({ data: Buffer.from(said), name: 'a.txt' });

async function stored(): Promise<{ media: number; uses: number }> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ media: number; uses: number }>(
    'select (select count(*)::int from media) as media, (select count(*)::int from media_uses) as uses',
  );
  await client.end();
  return rows[0] ?? { media: -1, uses: -1 };
}

async function remove(id: string): Promise<void> {
  await store.conversations.close(id, {});
  await store.removal.begin(id);
  expect(await store.removal.finish(id)).toBe(true);
}

afterEach(async () => {
  for (const { conversationId } of await store.conversations.list({ limit: 100 })) await remove(conversationId);
  expect(await stored()).toEqual({ media: 0, uses: 0 });
});

test('the same bytes are stored once for a tenant, and stay while a conversation uses them', async () => {
  const [one, other, foreign] = [await newConversation(store), await newConversation(store), await newConversation(store, { tenantId: 'south' })];
  const ids = [one, other, foreign];
  const kept: StoredMedia[] = [];
  for (const id of ids) kept.push(await store.media.keep(id, text('Ahoy.'), 'message'));
  expect(kept).toEqual(ids.map(() => ({ type: 'file', mediaType: 'text/plain', name: 'a.txt', blob: blobOf(Buffer.from('Ahoy.')), bytes: 5 })));
  expect(await stored()).toEqual({ media: 2, uses: 3 });
  const blob = kept[0]?.blob ?? '';
  await remove(one);
  expect(await store.media.read(one, blob)).toBeUndefined();
  expect(await store.media.read(other, blob)).toEqual(Buffer.from('Ahoy.'));
  expect(await store.media.read(other, blob, 2)).toEqual(Buffer.from('Ah'));
  await remove(other);
  expect(await stored()).toEqual({ media: 1, uses: 1 });
  expect(await store.media.read(foreign, blob)).toBeDefined();
});

test('a conversation reaches what it uses, and nothing else by its digest; a tenant sees nothing of another', async () => {
  const [mine, theirs] = [await newConversation(store, { tenantId: 'north' }), await newConversation(store, { tenantId: 'south' })];
  const { blob } = await store.media.keep(theirs, text('secret'), 'message');
  expect([await store.media.read(mine, blob), await store.media.find(mine, blob)]).toEqual([undefined, undefined]);
  await store.prepareTenants();
  expect(await asTenant('north', () => store.media.read(theirs, blob))).toBeUndefined();
  expect(await asTenant('south', () => store.media.read(theirs, blob))).toEqual(Buffer.from('secret'));
  expect(await asTenant('north', () => store.media.keep(mine, text('own'), 'message'))).toMatchObject({ bytes: 3 });
  await expect(asTenant('north', () => store.media.keep(theirs, text('own'), 'message'))).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  for (const odd of ['', 'sha256:', `sha256:${'G'.repeat(64)}`, "sha256:' or 1=1", '../../x', blob.slice(0, 20)]) {
    expect(await store.media.find(theirs, odd)).toBeUndefined();
  }
});

test('the bytes count once, also when they are given many times at once, and up to the limit of the conversation', async () => {
  const id = await newConversation(store);
  const before = await store.conversations.storedBytes(id);
  const data = randomBytes(1000);
  await Promise.all(Array.from({ length: 8 }, () => store.media.keep(id, { data, name: 'a.bin' }, 'message')));
  expect((await store.conversations.storedBytes(id)) - before).toBe(1000);
  const client = new Client(url);
  await client.connect();
  await client.query('update conversations set media_bytes = $1 where conversation_id = $2', [ATTACHMENT_LIMITS.bytesOfConversation - 10, id]);
  await client.end();
  await expect(store.media.keep(id, { data: randomBytes(11) }, 'message')).rejects.toMatchObject({ code: 'ATTACHMENTS_FULL' });
  await expect(store.media.keep(id, { data: randomBytes(10) }, 'result')).resolves.toMatchObject({ bytes: 10 });
  await expect(store.media.keep(id, { data, name: 'again.bin' }, 'message')).resolves.toMatchObject({ name: 'a.bin' });
  await expect(store.media.keep('conv_none', { data }, 'message')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('what is given while the same is removed is there, or was given anew', async () => {
  const data = randomBytes(2000);
  for (let round = 0; round < 10; round += 1) {
    const [old, young] = [await newConversation(store), await newConversation(store)];
    await store.media.keep(old, { data }, 'message');
    const [kept] = await Promise.all([
      store.media.keep(young, { data }, 'message'),
      remove(old),
      store.media.sweepAfter(undefined),
      store.media.sweepAfter(undefined),
    ]);
    expect(await store.media.read(young, kept.blob)).toEqual(data);
    await remove(young);
  }
}, 60_000);

test('what only results have goes with the details of calls, long after the end; attachments of messages stay', async () => {
  const id = await newConversation(store);
  const result = await store.media.keep(id, { data: randomBytes(10) }, 'result');
  const both = await store.media.keep(id, text('both'), 'result');
  await store.media.keep(id, text('both'), 'message');
  await store.conversations.close(id, {});
  expect(await store.conversations.compact(0, 10)).toBe(1);
  expect(await store.media.sweepAfter(undefined)).toEqual({ removed: 1 });
  expect([await store.media.find(id, result.blob), await store.media.find(id, both.blob)]).toEqual([undefined, both]);
});

test('bytes that nothing uses are found page by page', async () => {
  const [young, old] = [await newConversation(store), await newConversation(store)];
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    for (const id of text === 'c' ? [young, old] : [old]) await store.media.keep(id, { data: Buffer.from(`page ${text}`) }, 'result');
  }
  await store.conversations.close(old, {});
  await store.conversations.compact(0, 10);
  let removed = 0;
  let pages = 0;
  for (let page = await store.media.sweepAfter(undefined, 2); ; page = await store.media.sweepAfter(page.next, 2)) {
    removed += page.removed;
    pages += 1;
    if (!page.next) break;
  }
  expect([removed, pages > 2]).toEqual([4, true]);
  expect(await store.media.list(young)).toHaveLength(1);
});
