import { Client } from 'pg';
import { migrate } from '../../../src/store/database/migrate.ts';
import { createTestDatabase } from '../../support/databases.ts';

const MIGRATION = '0080_calls_of_ended_code';
const CONVERSATION = `insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status) values ('conv-1', 'fixer', 'user-1', 'default', 'idle', '{}')`;
const CALL = `insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, state, parent_call_id, started_at, finished_at)
  values ($1, 'conv-1', 'turn-1', 'step-1', 0, 'code:run', '{}', 'hash', $2, $3, clock_timestamp() - interval '2 days', case when $4 then clock_timestamp() - $5::interval end)`;

test('calls of code that ended more than a day ago get a result; those of code that runs, or has just ended, do not', async () => {
  await using database = await createTestDatabase();
  const client = new Client(database.url);
  await client.connect();
  await client.query(CONVERSATION);
  const add = async (callId: string, state: string, parent: string | null, age: string | null) =>
    client.query(CALL, [callId, state, parent, age !== null, age]);
  await add('long-ended', 'finished', null, '30 hours');
  await add('just-ended', 'finished', null, '1 hour');
  await add('running', 'running', null, null);
  for (const parent of ['long-ended', 'just-ended', 'running']) await add(`${parent}-1m1`, 'running', parent, null);
  // As a database that has all earlier migrations.
  await client.query('delete from longshore_migrations where name = $1', [MIGRATION]);
  await migrate(database.url);
  const { rows } = await client.query<{ call_id: string; text: string | null }>(
    `select call_id, state, content->0->>'text' as text from tool_calls where call_id like '%m1' order by call_id`,
  );
  await client.end();
  expect(rows).toEqual([
    { call_id: 'just-ended-1m1', state: 'running', text: null },
    {
      call_id: 'long-ended-1m1',
      state: 'interrupted',
      text: 'Interrupted: the code that made this call ended before the call had a result.',
    },
    { call_id: 'running-1m1', state: 'running', text: null },
  ]);
});
