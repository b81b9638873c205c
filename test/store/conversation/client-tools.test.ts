import { Client } from 'pg';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { CLIENT_TOOLS } from '../../../src/store/transcript.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { newConversation, silent } from '../support.ts';

const ENTRIES = 10_000;
const TOOLS = { open_file: { description: 'Opens a file.' } };

/** The tools of clients that a conversation has are looked up before every step, however long it is. */
let database: TestDatabase;
let client: Client;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  store = await openStore({ url: database.url, log: silent, poolSize: 2 });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await client.end();
  await database[Symbol.asyncDispose]();
});

/** A conversation of many entries, of which the first may declare tools. */
async function longConversation(declares: boolean): Promise<string> {
  const conversationId = await newConversation(store);
  const first = { role: 'user', content: [], ...(declares && { clientTools: TOOLS }) };
  await client.query(
    `insert into transcript (conversation_id, seq, key, turn_id, at, entry)
      select $1, n, 'key_' || n, 'turn_1', now(), case when n = 1 then $2::json
        else json_build_object('role', case n % 3 when 0 then 'user' when 1 then 'assistant' else 'tool' end, 'text', repeat(md5(n::text), 60)) end
      from generate_series(1, $3) n`,
    [conversationId, JSON.stringify(first), ENTRIES],
  );
  await client.query('analyze transcript');
  return conversationId;
}

/** How many entries the database looks at. */
async function lookedAt(conversationId: string): Promise<number> {
  interface Plan {
    'Actual Rows': number;
    'Rows Removed by Filter'?: number;
    Plans?: Plan[];
  }
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `explain (analyze, format json) ${CLIENT_TOOLS.replaceAll('$1', `'${conversationId}'`)}`,
  );
  const count = (plan: Plan): number =>
    (plan['Rows Removed by Filter'] ?? 0) + plan['Actual Rows'] + (plan.Plans ?? []).reduce((sum, part) => sum + count(part), 0);
  return count(rows[0]!['QUERY PLAN'][0]!.Plan);
}

/** A fork of all entries of another conversation. */
async function forkOf(sourceId: string): Promise<string> {
  const conversationId = await newConversation(store);
  await client.query(`insert into forks (conversation_id, source_id, transcript_seq, event_seq, hidden, files) values ($1, $2, $3, 1, '{}', 'none')`, [
    conversationId,
    sourceId,
    ENTRIES,
  ]);
  await client.query('insert into transcript_parts (conversation_id, after_seq, to_seq, source_id) values ($1, 0, $3, $2)', [
    conversationId,
    sourceId,
    ENTRIES,
  ]);
  return conversationId;
}

test.each([
  ['a conversation that declares them in its first message', true, TOOLS, async (id: string) => id],
  ['a conversation that declares none', false, undefined, async (id: string) => id],
  ['a fork of one that declares them in its first message', true, TOOLS, forkOf],
  ['a fork of one that declares none', false, undefined, forkOf],
])(
  'among the 10,000 entries of %s, they are found without looking at the others',
  async (_, declares, tools, of) => {
    const conversationId = await of(await longConversation(declares));
    expect(await store.transcript.clientTools(conversationId)).toEqual(tools);
    expect(await lookedAt(conversationId)).toBeLessThan(20);
  },
  60_000,
);
