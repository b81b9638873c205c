import { Client } from 'pg';
import type { PluginShelf } from '../../src/store/plugin-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, useTestStore } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

let shelves = 0;
const newShelf = (more: Partial<PluginShelf> = {}): PluginShelf => ({ pluginId: `notes-${(shelves += 1)}`, tenantId: 'default', ...more });

test('a value is created, updated, read and deleted', async () => {
  const shelf = newShelf();
  expect(await store.pluginStore.set(shelf, 'a', { text: 'one', odd: '\u0000' })).toBe('created');
  expect(await store.pluginStore.set(shelf, 'a', null)).toBe('updated');
  expect(await store.pluginStore.entry(shelf, 'a')).toEqual({ value: null, version: expect.any(Number) });
  expect(await store.pluginStore.delete(shelf, 'a')).toBe(true);
  expect(await store.pluginStore.delete(shelf, 'a')).toBe(false);
  expect(await store.pluginStore.entry(shelf, 'a')).toBeUndefined();
});

test('a write over a version fails when another caller has written, or deleted and written again', async () => {
  const shelf = newShelf();
  expect(await store.pluginStore.set(shelf, 'a', 1, { ifVersion: 7 })).toBe('conflict');
  expect(await store.pluginStore.set(shelf, 'a', 1, { ifVersion: 0 })).toBe('created');
  expect(await store.pluginStore.set(shelf, 'a', 2, { ifVersion: 0 })).toBe('conflict');
  const { version } = (await store.pluginStore.entry(shelf, 'a'))!;
  expect(await store.pluginStore.set(shelf, 'a', 3, { ifVersion: version })).toBe('updated');
  expect(await store.pluginStore.set(shelf, 'a', 4, { ifVersion: version })).toBe('conflict');
  await store.pluginStore.delete(shelf, 'a');
  await store.pluginStore.set(shelf, 'a', 5);
  expect(await store.pluginStore.set(shelf, 'a', 6, { ifVersion: version })).toBe('conflict');
  expect(await store.pluginStore.entry(shelf, 'a')).toMatchObject({ value: 5 });
});

test('of many that count up by version at once, each step counts once', async () => {
  const shelf = newShelf();
  await store.pluginStore.set(shelf, 'n', 0);
  const countUp = async (): Promise<void> => {
    const { value, version } = (await store.pluginStore.entry(shelf, 'n'))!;
    if ((await store.pluginStore.set(shelf, 'n', Number(value) + 1, { ifVersion: version })) === 'conflict') await countUp();
  };
  await Promise.all(Array.from({ length: 20 }, countUp));
  expect(await store.pluginStore.entry(shelf, 'n')).toMatchObject({ value: 20 });
});

test('plugins, tenants, conversations and users do not see the entries of each other', async () => {
  const conversationId = await newConversation(store);
  const whole = newShelf();
  const places = [
    whole,
    { ...whole, pluginId: `${whole.pluginId}-other` },
    { ...whole, tenantId: 'other' },
    { ...whole, userId: 'user-1' },
    { ...whole, userId: 'user-2' },
    { ...whole, conversationId },
    { ...whole, conversationId, userId: 'user-1' },
  ];
  for (const [index, place] of places.entries()) expect(await store.pluginStore.set(place, 'key', index)).toBe('created');
  expect(await Promise.all(places.map((place) => store.pluginStore.entry(place, 'key')))).toMatchObject(places.map((_, value) => ({ value })));
});

test('an entry whose time is over is gone, may be created again, and is swept', async () => {
  const shelf = newShelf();
  await store.pluginStore.set(shelf, 'a', 1, { ttlMs: 0 });
  await store.pluginStore.set(shelf, 'b', 1, { ttlMs: 3_600_000 });
  expect(await store.pluginStore.entry(shelf, 'a')).toBeUndefined();
  expect(await store.pluginStore.list(shelf, '')).toEqual(['b']);
  expect(await store.pluginStore.set(shelf, 'a', 2, { ifVersion: 0, ttlMs: 0 })).toBe('created');
  await store.pluginStore.sweep();
  expect(await count(shelf.pluginId)).toBe(1);
  expect(await store.pluginStore.delete(shelf, 'a')).toBe(false);
});

test('keys are listed by prefix, taken word for word, in order', async () => {
  const shelf = newShelf();
  for (const key of ['note:b', 'note:a', 'note%', 'Note:c']) await store.pluginStore.set(shelf, key, true);
  expect(await store.pluginStore.list(shelf, 'note')).toEqual(['note%', 'note:a', 'note:b']);
  expect(await store.pluginStore.list(shelf, 'note%')).toEqual(['note%']);
  expect(await store.pluginStore.list(shelf, '')).toEqual(['Note:c', 'note%', 'note:a', 'note:b']);
});

test('options and keys that cannot be meant are refused, and nothing is written', async () => {
  const shelf = newShelf({ pluginId: `notes-odd` });
  await store.pluginStore.set(shelf, 'a', 1);
  for (const ifVersion of [-1, 1.5, NaN, Infinity, 1e300, '1' as never]) {
    await expect(store.pluginStore.set(shelf, 'a', 2, { ifVersion })).rejects.toThrow('ifVersion is a version that was read, or 0');
  }
  for (const ttlMs of [NaN, Infinity, 1e300, '1' as never]) {
    await expect(store.pluginStore.set(shelf, 'a', 2, { ttlMs })).rejects.toThrow('ttlMs is a number of milliseconds');
  }
  for (const key of ['a\u0000', '\ud800', 7 as never]) {
    await expect(store.pluginStore.set(shelf, key, 2)).rejects.toThrow('the key is no text that can be kept');
    expect(await store.pluginStore.entry(shelf, key)).toBeUndefined();
    expect(await store.pluginStore.delete(shelf, key)).toBe(false);
    expect(await store.pluginStore.list(shelf, key)).toEqual([]);
  }
  expect(await store.pluginStore.entry(shelf, 'a')).toMatchObject({ value: 1 });
  expect(await store.pluginStore.set(shelf, 'a', 3, { ifVersion: Number.MAX_SAFE_INTEGER })).toBe('conflict');
});

test('what is too large is refused, naming the limit', async () => {
  const shelf = newShelf({ pluginId: 'notes' });
  await expect(store.pluginStore.set(shelf, 'big', 'x'.repeat(300_000))).rejects.toThrow(
    'The store of plugin "notes" refused "big": the value has 300002 characters of JSON; at most 262144 are allowed. Put big things into a file',
  );
  await expect(store.pluginStore.set(shelf, '', 1)).rejects.toThrow('the key has 0 characters. Use 1 to 200');
});

test('the entries of a conversation go with it', async () => {
  const conversationId = await newConversation(store);
  const shelf = newShelf();
  await store.pluginStore.set({ ...shelf, conversationId }, 'a', 1);
  await store.pluginStore.set(shelf, 'a', 1);
  await sql('delete from conversations where conversation_id = $1', [conversationId]);
  expect(await count(shelf.pluginId)).toBe(1);
});

async function count(pluginId: string): Promise<number> {
  return (await sql('select 1 from plugin_store where plugin_id = $1', [pluginId])).length;
}

async function sql(text: string, values: string[]): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
