import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { Client } from 'pg';
import { INDEXED_TYPES } from '../../../src/contracts/search-attributes.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { until } from '../../e2e/support.ts';
import { createTestDatabase, testInstallation } from '../../support/databases.ts';
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
      'Temporal: search attributes exist already.\nSetup does not help. Run the version that is used elsewhere in this installation.\n',
  ]);
});

test('a search attribute of another type is said to be one by setup and its check, since setup cannot change it', async () => {
  await using database = await createTestDatabase();
  const { TEMPORAL_ADDRESS: address } = loadConfig();
  const namespace = testInstallation();
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
    const add = () => connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries([['CostUsd', INDEXED_TYPES.KEYWORD]]) });
    // The server knows a new namespace a moment later.
    await until(async () => add().then(() => true, () => false), 'the attribute is there'); // prettier-ignore
    const environment = { ...process.env, DATABASE_URL: database.url, TEMPORAL_NAMESPACE: namespace };
    const fix = 'Remove those of another type, if no other program uses them (temporal operator search-attribute remove), then: longshore setup';
    const check = await runLine(undefined, ['setup', '--check'], { environment });
    expect([check.code, check.out]).toEqual([
      1,
      expect.stringMatching(
        /^Postgres: the schema is up to date\.\nTemporal: search attributes are missing: AgentId, .*, CostUsd \(it has another type\), ParentId\.\n/,
      ),
    ]);
    expect(check.out).toContain(`\nSetup does not help. ${fix}.\n`);
    const setup = await runLine(undefined, ['setup'], { environment });
    expect([setup.code, setup.out, setup.err]).toEqual([expect.any(Number), expect.not.stringContaining('exist already'), expect.stringContaining(fix)]);
    expect(setup.code).not.toBe(0);
  } finally {
    await connection.close();
  }
}, 60_000);

test('setup --check refuses a database of another namespace, as setup does', async () => {
  await using database = await createTestDatabase();
  const client = new Client(database.url);
  await client.connect();
  await client.query(`insert into temporal_home (namespace, namespace_id) values ('other', 'id-of-other')`);
  await client.end();
  const environment = { ...process.env, DATABASE_URL: database.url };
  const said = expect.stringContaining('The database belongs to the Temporal namespace "other" (id-of-other)') as string;
  const [check, setup] = [await runLine(undefined, ['setup', '--check'], { environment }), await runLine(undefined, ['setup'], { environment })];
  expect([check.code, check.err]).toEqual([setup.code, said]);
  expect([setup.code, setup.err]).toEqual([1, said]);
});

test('setup and its check say that there is no such namespace, and the database belongs to none', async () => {
  await using database = await createTestDatabase();
  const environment = { ...process.env, DATABASE_URL: database.url, TEMPORAL_NAMESPACE: testInstallation() };
  const said = `has no namespace "${environment.TEMPORAL_NAMESPACE}". Name one that exists, or make this one: temporal operator namespace create --namespace`;
  for (const args of [['setup', '--check'], ['setup'], ['setup', '--move-database']]) {
    const { code, out, err } = await runLine(undefined, args, { environment });
    expect([code, out, err]).toEqual([2, 'Postgres: the schema is up to date.\n', expect.stringContaining(said)]);
  }
}, 60_000);
