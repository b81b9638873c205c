import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openStore, readSchema } from '../../../src/store/open-store.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { until } from '../../e2e/support.ts';
import { silent } from '../support.ts';
import { migrateTo } from './migrate-to.ts';

async function connect(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

test('a database that a newer version has changed is used, unless a change says that earlier versions cannot', async () => {
  await using database = await createTestDatabase();
  await using client = await connect(database.url);
  await client.query(`insert into longshore_migrations (name, run_on) values ('9998_more', now()), ('9999_other', now())`);
  const store = await openStore({ url: database.url, log: silent, poolSize: 1 });
  await store[Symbol.asyncDispose]();
  await client.query(`insert into schema_needs values ('9999_other'), ('0047_memory')`);
  await expect(openStore({ url: database.url, log: silent, poolSize: 1 })).rejects.toMatchObject({
    code: 'DATABASE_NEWER',
    message:
      'The database was changed by a newer version of Longshore, with which this version cannot work (it lacks 9999_other). Run the version that is used elsewhere in this installation',
  });
  expect(await readSchema({ url: database.url, log: silent })).toEqual({ pending: [], lacking: ['9999_other'] });
});

test('a program that may not change the schema refuses an older one, and leaves it as it is', async () => {
  await using database = await createTestDatabase({ schema: 'none' });
  await migrateTo(database.url, 48);
  const before = await readSchema({ url: database.url, log: silent });
  expect(before.pending[0]).toBe('0049_imports');
  await expect(openStore({ url: database.url, log: silent, poolSize: 1, migrate: 'no' })).rejects.toMatchObject({
    code: 'DATABASE_OLDER',
    message: expect.stringMatching(
      /^The schema of the database lacks 0049_imports, .*, and LONGSHORE_MIGRATE=no lets no program change it\. Run: longshore setup$/,
    ) as string,
  });
  expect(await readSchema({ url: database.url, log: silent })).toEqual(before);
  const store = await openStore({ url: database.url, log: silent, poolSize: 1 });
  await store[Symbol.asyncDispose]();
  expect(await readSchema({ url: database.url, log: silent })).toEqual({ pending: [], lacking: [] });
});

test('a change that waits for a table lets the statements behind it pass, and is made when the table is free', async () => {
  await using database = await createTestDatabase({ schema: 'none' });
  await migrateTo(database.url, 47);
  await using holder = await connect(database.url);
  await using other = await connect(database.url);
  await holder.query('begin; select count(*) from messages');
  let isDone = false;
  const migrating = migrate(database.url).then(() => (isDone = true));
  const waits = async () => {
    const { rows } = await other.query<{ waits: boolean }>(
      `select exists (select from pg_locks where not granted and relation = 'messages'::regclass) as waits`,
    );
    return rows[0]?.waits === true;
  };
  for (const time of ['the first', 'another']) {
    await until(waits, `the change waits for ${time} time`);
    // It waits behind the change until that gives up.
    await other.query('set statement_timeout = 5000; select count(*) from messages');
  }
  expect(isDone).toBe(false);
  await holder.query('commit');
  await migrating;
  expect(await readSchema({ url: database.url, log: silent })).toEqual({ pending: [], lacking: [] });
}, 60_000);
