import { Client } from 'pg';
import { openDatabase, type Database } from '../../src/store/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { silent } from './support.ts';

/** Changes two rows, the second after another caller has had the time to change it. */
const SETUP = `create table counters (id int primary key, n int not null);
  insert into counters values (1, 0), (2, 0);
  create function add_to_both(first int, second int) returns void language plpgsql as $$ begin
    update counters set n = n + 1 where id = first;
    perform pg_sleep(0.2);
    update counters set n = n + 1 where id = second;
  end $$`;

let place: TestDatabase;
let database: Database;
beforeAll(async () => {
  place = await createTestDatabase();
  const client = new Client({ connectionString: place.url });
  await client.connect();
  await client.query(SETUP);
  await client.end();
});
afterAll(async () => place[Symbol.asyncDispose]());
afterEach(async () => {
  await database.query('reset', 'update counters set n = 0', []);
  await database.close();
});

const counts = async () => (await database.query<{ n: number }>('counts', 'select n from counters order by id', [])).map(({ n }) => n);

test('of statements that wait for each other none fails: the one that Postgres ends for the others is repeated, and takes effect once', async () => {
  database = openDatabase({ url: `${place.url}?options=${encodeURIComponent('-c deadlock_timeout=50ms')}`, log: silent, poolSize: 4 });
  const add = (first: number, second: number) => database.query('add', 'select add_to_both($1, $2)', [first, second]);
  await Promise.all([add(1, 2), add(2, 1), add(1, 2), add(2, 1)]);
  expect(await counts()).toEqual([4, 4]);
});

test('under an isolation that refuses changes of the same row at once, all of them take effect', async () => {
  const options = encodeURIComponent('-c default_transaction_isolation=serializable');
  database = openDatabase({ url: `${place.url}?options=${options}`, log: silent, poolSize: 4 });
  await Promise.all(Array.from({ length: 20 }, () => database.query('increase', 'update counters set n = n + 1 where id = 1', [])));
  expect(await counts()).toEqual([20, 0]);
});

test('a statement that is rolled back every time fails in the end, with an error that may be retried', async () => {
  database = openDatabase({ url: place.url, log: silent, poolSize: 1 });
  const hopeless = `do $$ begin raise exception 'could not serialize access' using errcode = '40001'; end $$`;
  await expect(database.query('hopeless', hopeless, [])).rejects.toMatchObject({
    code: 'POSTGRES_UNAVAILABLE',
    retryable: true,
    message: expect.stringContaining('it rolled a statement back repeatedly because of concurrent transactions (could not serialize access)') as string,
  });
});
