import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { migrateTo } from './migrate-to.ts';

const BEFORE = 58;
const INDEX = `select indisvalid as valid, pg_get_indexdef(indexrelid) as definition from pg_index where indexrelid = to_regclass('conversations_listed')`;
const BUILDING = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like '%index concurrently%' and wait_event_type = 'Lock'`;
const ADD = `insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status) values ($1, 'fixer', 'user-1', 'default', 'idle', '{}')`;

test('an index is built beside an old transaction, others write meanwhile, and what an interrupted build has left is replaced', async () => {
  await using database = await createTestDatabase({ schema: 'none', sandboxes: 'invented' });
  await migrateTo(database.url, BEFORE);
  const [old, writer] = [new Client(database.url), new Client(database.url)];
  await Promise.all([old.connect(), writer.connect()]);
  try {
    await writer.query('create index conversations_listed on conversations (user_id)');
    await old.query('begin isolation level repeatable read; select count(*) from conversations');
    const migrating = Promise.all([migrate(database.url), migrate(database.url)]);
    while ((await writer.query(BUILDING)).rowCount === 0);
    await writer.query('set lock_timeout = 100');
    await writer.query(ADD, ['conv_1']);
    await old.query('commit');
    await migrating;
    await writer.query(ADD, ['conv_2']);
    const { rows } = await writer.query<{ valid: boolean; definition: string }>(INDEX);
    expect(rows).toEqual([
      { valid: true, definition: expect.stringContaining('(created_at DESC, conversation_id DESC, state, agent_id, user_id, tenant_id)') },
    ]);
    const { rows: replaced } = await writer.query(`select to_regclass('conversations_newest') as index`);
    expect(replaced).toEqual([{ index: null }]);
  } finally {
    await Promise.all([old.end(), writer.end()]);
  }
});
