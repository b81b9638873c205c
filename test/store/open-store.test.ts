import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
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

test('a server that takes statements and answers none is said to be away within seconds', async () => {
  await using database = await createTestDatabase();
  const { hostname, port } = new URL(database.url);
  const answers: Socket[] = [];
  const proxy = createServer((client) => {
    const server = connect({ host: hostname, port: Number(port) });
    for (const socket of [client, server]) socket.on('error', () => undefined).on('close', () => [client, server].forEach((each) => each.destroy()));
    answers.push(server);
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const url = Object.assign(new URL(database.url), { port: String((proxy.address() as AddressInfo).port) }).href;
    await using store = await openStore({ url, log: silent, poolSize: 2 });
    expect(await store.ping()).toBe(true);
    for (const server of answers) server.unpipe().pause();
    const askedAt = performance.now();
    expect(await store.ping()).toBe(false);
    expect(performance.now() - askedAt).toBeLessThan(30_000);
    for (const server of answers) server.destroy();
  } finally {
    proxy.close();
  }
});
