import { Client } from 'pg';
import { openStore } from '../../src/store/open-store.ts';
import { createTestDatabase } from '../support/databases.ts';
import { newConversation, silent } from './support.ts';

test('many processes may open a fresh database at once', async () => {
  await using database = await createTestDatabase({ schema: 'none' });
  const stores = await Promise.all(Array.from({ length: 4 }, () => openStore({ url: database.url, log: silent, poolSize: 1 })));
  await Promise.all(stores.map((store) => newConversation(store)));
  expect(await stores[0]!.conversations.list({ limit: 10 })).toHaveLength(4);
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
});

test('a database that is away is reported as such', async () => {
  const opening = openStore({ url: 'postgres://nobody:secret-word@127.0.0.1:1/none', log: silent });
  await expect(opening).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
  await expect(opening).rejects.not.toThrow('secret-word');
});

test('a store answers again after its connections were cut', async () => {
  await using database = await createTestDatabase();
  const store = await openStore({ url: database.url, log: silent, poolSize: 2 });
  const client = new Client(database.url);
  await client.connect();
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()');
  await client.end();
  let answered = false;
  while (!answered) answered = await store.ping();
  expect(await store.conversations.list({ limit: 1 })).toEqual([]);
  await store[Symbol.asyncDispose]();
  expect(await store.ping()).toBe(false);
});

test('queries that wait for a connection when a store is closed are answered first, and later ones are refused', async () => {
  await using database = await createTestDatabase();
  const store = await openStore({ url: database.url, log: silent, poolSize: 1 });
  const waiting = Array.from({ length: 20 }, () => store.conversations.list({ limit: 1 }));
  await store[Symbol.asyncDispose]();
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => []));
  await expect(store.conversations.list({ limit: 1 })).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
});
