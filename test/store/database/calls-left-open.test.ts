import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { createTestDatabase } from '../../support/databases.ts';

const MIGRATION = '0080_calls_left_open';
const CONVERSATION = `insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, updated_at)
  values ($1, 'fixer', 'user-1', 'default', $2, '{}', clock_timestamp() - interval '2 days')`;
const CALL = `insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, state, parent_call_id, started_at, finished_at)
  values ($1, $6, 'turn-1', 'step-1', 0, 'code:run', '{}', 'hash', $2, $3, clock_timestamp() - interval '2 days', case when $4 then clock_timestamp() - $5::interval end)`;

test('calls of code, and of conversations, that ended more than a day ago get a result; those of code that runs, or has just ended, do not', async () => {
  await using database = await createTestDatabase();
  const client = new Client(database.url);
  await client.connect();
  await client.query(CONVERSATION, ['open', 'idle']);
  await client.query(CONVERSATION, ['closed', 'closed']);
  const add = async (callId: string, state: string, parent: string | null, age: string | null, conversation = 'open') =>
    client.query(CALL, [callId, state, parent, age !== null, age, conversation]);
  await add('long-ended', 'finished', null, '30 hours');
  await add('just-ended', 'finished', null, '1 hour');
  await add('running', 'running', null, null);
  for (const parent of ['long-ended', 'just-ended', 'running']) await add(`${parent}-1m1`, 'running', parent, null);
  await add('of-closed', 'running', null, null, 'closed');
  // As a database that has all earlier migrations.
  await client.query('delete from longshore_migrations where name = $1', [MIGRATION]);
  await migrate(database.url);
  const { rows } = await client.query<{ call_id: string; text: string | null }>(
    `select call_id, state, content->0->>'text' as text from tool_calls where call_id like '%m1' or call_id = 'of-closed' order by call_id`,
  );
  await client.end();
  expect(rows).toEqual([
    { call_id: 'just-ended-1m1', state: 'running', text: null },
    {
      call_id: 'long-ended-1m1',
      state: 'interrupted',
      text: 'Interrupted: the code that made this call ended before the call had a result.',
    },
    {
      call_id: 'of-closed',
      state: 'unknown',
      text: 'The workflow of the conversation was ended from outside; it is not known whether this call took effect.',
    },
    { call_id: 'running-1m1', state: 'running', text: null },
  ]);
});
