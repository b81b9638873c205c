import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { migrateTo } from './migrate-to.ts';

/** Later changes of the schema are made while an installation works. */
const LAST_OFFLINE = 52;
/** Of each table: as many conversations as events. */
const ROWS = 1_000_000;
const MOST_WAIT_MS = 1_000;
const FILL = [
  `insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status)
     select 'conv_' || n, 'fixer', 'user-' || n % 100, 'tenant-' || n % 10, 'idle', '{}' from generate_series(1, ${ROWS}) n`,
  `insert into events (conversation_id, seq, at, type, data, key)
     select 'conv_' || 1 + n, 0, now(), 'tool.output', '{"text": "line"}', 'key-' || n from generate_series(0, ${ROWS - 1}) n`,
  `insert into transcript (conversation_id, seq, key, turn_id, at, entry)
     select 'conv_' || 1 + n, 0, 'key-' || n, 'turn_1', now(), '{"role": "user", "content": []}' from generate_series(0, ${ROWS - 1}) n`,
  `insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash)
     select 'call_' || n, 'conv_' || n, 'turn_1', 'step_' || n, 0, 'shell:run', '{}', 'hash' from generate_series(1, ${ROWS}) n`,
];
const TABLES = ['conversations', 'events', 'transcript', 'tool_calls'];

test('no change of the schema keeps a writer of a table with a million rows waiting for a second', async () => {
  await using database = await createTestDatabase({ schema: 'none', sandboxes: 'invented' });
  await migrateTo(database.url, LAST_OFFLINE);
  const client = new Client(database.url);
  await client.connect();
  for (const statement of FILL) await client.query(statement);
  await client.query('analyze');
  await client.end();
  const stopping = new AbortController();
  const writers = TABLES.map((table) => longestWait(database.url, table, stopping.signal));
  try {
    await migrate(database.url);
  } finally {
    stopping.abort();
  }
  const waits = await Promise.all(writers);
  console.log(`longest waits: ${TABLES.map((table, index) => `${table} ${Math.round(waits[index] ?? 0)} ms`).join(', ')}`);
  expect(TABLES.filter((_, index) => (waits[index] ?? 0) >= MOST_WAIT_MS)).toEqual([]);
}, 300_000);

/** Takes the lock of a writer of the table again and again. The longest wait for it, in milliseconds. */
async function longestWait(url: string, table: string, signal: AbortSignal): Promise<number> {
  const client = new Client(url);
  await client.connect();
  let longest = 0;
  do {
    const since = performance.now();
    await client.query(`begin; lock table ${table} in row exclusive mode; commit`);
    longest = Math.max(longest, performance.now() - since);
  } while (!signal.aborted);
  await client.end();
  return longest;
}
