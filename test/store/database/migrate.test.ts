import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { silent } from '../support.ts';

const DIRECTORY = 'src/store/database/migrations';
const isSql = (file: string) => file.endsWith('.sql');
const quiet = () => undefined;
/** Where the migrations that have had another name are now. */
const MOVED: Record<string, string> = {
  '0013_turn_ends': '0014_turn_ends',
  '0014_finite_expiry': '0015_finite_expiry',
  '0014_stored_bytes': '0016_stored_bytes',
  '0031_usage_days': '0032_usage_days',
  '0033_message_outputs': '0039_message_outputs',
};

let files: string[];
beforeAll(async () => {
  files = (await readdir(DIRECTORY)).filter(isSql).toSorted();
});

test('every migration has a number of its own', () => {
  const numbers = files.map((file) => file.slice(0, 4));
  expect(new Set(numbers).size).toBe(numbers.length);
});

test.each<[what: string, ran: string[], after?: number]>([
  ['the one before the numbers 13 and 14 were given twice', []],
  ['one with the first of the two 13', ['0013_turn_ends']],
  ['one with the second of the two 13', ['0013_paused_sandboxes']],
  ['one that ran both 13', ['0013_paused_sandboxes', '0013_turn_ends']],
  ['one that ran both 13 in the other order', ['0013_turn_ends', '0013_paused_sandboxes']],
  ['one with the first of the two 14', ['0013_paused_sandboxes', '0013_turn_ends', '0014_finite_expiry']],
  ['one with the second of the two 14 only', ['0013_paused_sandboxes', '0013_turn_ends', '0014_stored_bytes']],
  ['one with all of them', ['0013_paused_sandboxes', '0013_turn_ends', '0014_finite_expiry', '0014_stored_bytes']],
  ['one that ran both 31', ['0031_usage_days'], 31],
  ['one with the first of the two 33', ['0033_message_outputs'], 32],
  ['one that ran both 33', ['0033_message_outputs'], 33],
])('a database of an earlier version is brought up to date: %s', async (_what, ran, after = 12) => {
  await using database = await createTestDatabase({ schema: 'none' });
  const dir = await mkdtemp(join(tmpdir(), 'longshore-migrations-'));
  const options = { databaseUrl: database.url, dir, direction: 'up', migrationsTable: 'longshore_migrations', checkOrder: false } as const;
  const run = () => runner({ ...options, logger: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
  for (const file of files.filter((name) => Number(name.slice(0, 4)) <= after)) await cp(join(DIRECTORY, file), join(dir, file));
  await run();
  for (const name of ran) {
    await cp(join(DIRECTORY, `${MOVED[name] ?? name}.sql`), join(dir, `${name}.sql`));
    await run();
  }
  await rm(dir, { recursive: true });
  await Promise.all([migrate(database.url), migrate(database.url)]);
  await migrate(database.url);
  const client = new Client(database.url);
  await client.connect();
  const { rows } = await client.query<{ name: string }>('select name from longshore_migrations order by name');
  await client.end();
  expect(rows.map(({ name }) => `${name}.sql`)).toEqual(files);
  const store = await openStore({ url: database.url, log: silent, poolSize: 1 });
  expect(await store.conversations.list({ limit: 1 })).toEqual([]);
  await store[Symbol.asyncDispose]();
});
