import { Client } from 'pg';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { newConversation, silent, statusOf } from '../support.ts';

const POOL = 3;
/** Many for each connection, and few enough that the last one does not wait too long for a connection on a busy machine. */
const CONVERSATIONS = 60;
const DATA = { callId: 'call_1', stream: 'stdout', offset: 0, bytes: 4, text: 'line' } as const;

test('a process has a limited number of connections, one of which listens for all followers, however many conversations it works for', async () => {
  await using database = await createTestDatabase();
  await using store = await openStore({ url: database.url, log: silent, poolSize: POOL });
  await store.prepareTenants();
  const ids = await Promise.all(Array.from({ length: CONVERSATIONS }, () => newConversation(store)));
  const stopping = new AbortController();
  const told: string[] = [];
  const followers = ids.map(async (id) => {
    for await (const { type } of store.events.follow(id, 1, stopping.signal)) if (type === 'tool.output' && told.push(id) === CONVERSATIONS) stopping.abort();
  });
  await Promise.all([
    ...ids.map((id) => store.events.append(id, [{ type: 'tool.output', data: DATA }])),
    ...ids.map((id) => store.conversations.saveStatus(statusOf(id), [])),
    ...ids.map((id) => asTenant('default', () => store.conversations.get(id))),
  ]);
  await Promise.all(followers);
  expect(told.toSorted()).toEqual(ids.toSorted());
  // Those of the two pools stay for a minute when nothing uses them.
  expect(await connectionsTo(database.url)).toEqual({ all: 2 * POOL + 1, listening: 1 });
});

/** The connections of stores. */
async function connectionsTo(url: string): Promise<{ all: number; listening: number }> {
  const client = new Client(url);
  await client.connect();
  const sql = `select count(*)::int as all, (count(*) filter (where query like 'listen %'))::int as listening from pg_stat_activity
    where datname = current_database() and application_name = 'longshore'`;
  const { rows } = await client.query<{ all: number; listening: number }>(sql);
  await client.end();
  return rows[0] ?? { all: 0, listening: 0 };
}
