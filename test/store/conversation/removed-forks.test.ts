import { Client } from 'pg';
import type { TranscriptEntry } from '../../../src/contracts/transcript.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../e2e/support.ts';
import { waitingForLocks } from '../../sandbox/lifecycle/support.ts';
import { newConversation, newId, statusOf, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

async function conversationWith(...texts: string[]): Promise<string> {
  const id = await newConversation(store);
  for (const text of texts) {
    const entry: TranscriptEntry = { role: 'user', content: [{ type: 'text', text }] };
    await store.transcript.append(id, 'turn_1', undefined, text, entry);
  }
  return id;
}

async function fork(source: string, transcriptSeq: number): Promise<string> {
  const id = newId('conv');
  const status = statusOf(id, { forkedFrom: { conversationId: source, transcriptSeq } });
  const place = { conversationId: source, transcriptSeq, hidden: [], files: 'none' as const, isShown: true };
  expect(await store.forks.create({ ...status, status }, place, [])).toBe(true);
  return id;
}

test('of forks that are removed at the same moment nothing stays, and what another one reads does', async () => {
  const source = await conversationWith('a', 'b', 'c');
  const forks = [await fork(source, 3), await fork(source, 2)];
  const short = await fork(source, 1);
  await mark([source]);
  expect(await store.removal.finish(source)).toBe(true);
  await removeTogether(forks);
  await store.removal.sweep();
  expect(await kept()).toEqual(['1']);
  expect((await store.transcript.read(short)).map(({ seq }) => seq)).toEqual([1]);
  const deep = await fork(short, 1);
  await removeTogether([short, deep]);
  await store.removal.sweep();
  expect(await kept()).toEqual([]);
});

async function mark(ids: string[]): Promise<void> {
  for (const id of ids) {
    await store.conversations.close(id, {});
    expect(await store.removal.begin(id)).toBe(true);
  }
}

/** Numbers of the entries that are kept for forks. */
async function kept(): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<{ seq: string }>('select seq::text from kept_entries order by seq')).rows.map(({ seq }) => seq);
  } finally {
    await client.end();
  }
}

/** Neither of the removals sees what the other one removes. */
async function removeTogether(ids: string[]): Promise<void> {
  await mark(ids);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select from transcript_parts where conversation_id = any($1) for update', [ids]);
    const removed = Promise.all(ids.map((id) => store.removal.finish(id)));
    await until(async () => (await waitingForLocks({ databaseUrl: url })) === ids.length, 'both removals wait');
    await client.query('commit');
    expect(await removed).toEqual(ids.map(() => true));
  } finally {
    await client.end();
  }
}
