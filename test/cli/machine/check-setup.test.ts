import { Client } from 'pg';
import { createTestDatabase } from '../../support/databases.ts';
import { runLine } from '../support.ts';

test('setup --check says what setup would do, changes nothing, and ends with 1 if there is something', async () => {
  await using database = await createTestDatabase({ schema: 'none' });
  const own = { ...process.env, DATABASE_URL: database.url };
  const first = await runLine(undefined, ['setup', '--check'], { environment: own });
  expect(first.err).toBe('');
  const [postgres, ...others] = first.out.split('\n');
  expect(postgres).toMatch(
    /^Postgres: \d+ changes of the schema have not been made: 0001_conversations, 0002_\w+, 0003_\w+, 0004_\w+, 0005_\w+ and \d+ more\.$/,
  );
  expect([first.code, ...others]).toEqual([1, 'Temporal: search attributes exist already.', 'To do this: longshore setup', '']);
  expect((await runLine(undefined, ['setup', '--check'], { environment: own })).out).toBe(first.out);
  expect((await runLine(undefined, ['setup'], { environment: { ...own, LONGSHORE_MIGRATE: 'no' } })).code).toBe(0);
  expect(await runLine(undefined, ['setup', '--check'], { environment: own })).toEqual({
    code: 0,
    out: 'Postgres: the schema is up to date.\nTemporal: search attributes exist already.\nNothing is to be done.\n',
    err: '',
  });
}, 60_000);

test('setup --check of a version that the database has left behind says that setup does not help', async () => {
  await using database = await createTestDatabase();
  const client = new Client(database.url);
  await client.connect();
  await client.query(`insert into schema_needs values ('9999_other')`);
  await client.end();
  const { code, out } = await runLine(undefined, ['setup', '--check'], { environment: { ...process.env, DATABASE_URL: database.url } });
  expect([code, out]).toEqual([
    1,
    'Postgres: a newer version has changed the schema (9999_other), and this version cannot work with it.\n' +
      'Temporal: search attributes exist already.\nlongshore setup does not help. Run the version that is used elsewhere in this installation.\n',
  ]);
});
