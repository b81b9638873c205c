import { assert, asyncProperty, array, boolean, constant, nat, oneof, record } from 'fast-check';
import type { TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { createKeptTranscripts } from '../../../src/store/conversation/kept-transcripts.ts';
import { openDatabase, type Database } from '../../../src/store/database/database.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, silent, statusOf, useTestStore } from '../support.ts';

let store: Store;
let url: string;
let database: Database;
// Ahead of the store's own end, which finds connections that were left open.
afterAll(() => database.close());
useTestStore((opened) => {
  ({ store, url } = opened);
  database = openDatabase({ url, log: silent, poolSize: 4 });
});

const text = (said: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text: said }] });
const say = (id: string, said: string) => store.transcript.append(id, `turn-${said}`, undefined, newId('msg'), text(said));
const result: TranscriptEntry = { role: 'tool', callId: 'call_1', tool: 'shell:run', content: [{ type: 'text', text: 'output' }], isError: false };

/** One thing that happens to one of the conversations. */
const acts = oneof(
  { weight: 6, arbitrary: record({ kind: constant('say' as const), at: nat(9), result: boolean() }) },
  { weight: 2, arbitrary: record({ kind: constant('change' as const), at: nat(9), place: nat(9) }) },
  { weight: 2, arbitrary: record({ kind: constant('checkpoint' as const), at: nat(9) }) },
  { weight: 2, arbitrary: record({ kind: constant('rewind' as const), at: nat(9), place: nat(9) }) },
  { weight: 3, arbitrary: record({ kind: constant('fork' as const), at: nat(9), place: nat(9) }) },
  { weight: 1, arbitrary: record({ kind: constant('compact' as const), at: nat(9) }) },
  { weight: 2, arbitrary: record({ kind: constant('remove' as const), at: nat(9), again: boolean() }) },
);
type Act = typeof acts extends import('fast-check').Arbitrary<infer Value> ? Value : never;

async function act(ids: string[], happens: Act, number: number): Promise<void> {
  const id = ids[happens.at % ids.length] ?? '';
  const seqs = (await store.transcript.readAll(id)).map(({ seq }) => seq);
  const placeAt = (place: number) => seqs[place % seqs.length] ?? 0;
  switch (happens.kind) {
    case 'say':
      await store.transcript.append(id, 'turn-1', undefined, newId('msg'), happens.result ? result : text(`said ${number}`));
      return;
    case 'change':
      return store.transcript.replaceMessage(id, placeAt(happens.place), text(`changed ${number}`));
    case 'checkpoint':
      await store.checkpoints.add(id, { number, turnId: 'turn-1', at: new Date(number).toISOString(), ...NO_FILES }, 0);
      return;
    case 'rewind':
      return rewind(id, happens.place, number);
    case 'fork':
      return fork(ids, id, placeAt(happens.place));
    case 'compact':
      await store.conversations.close(id, {});
      await store.conversations.compact(-1, 1_000);
      return;
    case 'remove':
      return remove(id, happens.again);
  }
}

const NO_FILES = { files: 0, bytes: 0, changed: 0, addedBytes: 0, leftOut: 0 };

async function rewind(id: string, place: number, number: number): Promise<void> {
  const kept = await store.checkpoints.kept(id);
  const to = kept[place % kept.length];
  const told = { checkpointId: '', before: '', transcriptSeq: 0, written: 0, removed: 0, failed: 0 };
  if (to) await store.checkpoints.rewind(id, to, `rewind_${number}`, told);
}

async function fork(ids: string[], source: string, transcriptSeq: number): Promise<void> {
  const id = newId('conv');
  const status = statusOf(id, { forkedFrom: { conversationId: source, transcriptSeq } });
  const hidden = (await store.transcript.readAll(source)).filter(({ rewound, seq }) => rewound && seq <= transcriptSeq).map(({ seq }) => seq);
  await store.forks.create({ ...status, status }, { conversationId: source, transcriptSeq, hidden, files: 'none', isShown: true }, []);
  await store.forks.inheritCheckpoints(id);
  ids.push(id);
}

/** `again`: another conversation gets the id at once, with as many entries. */
async function remove(id: string, again: boolean): Promise<void> {
  const entries = await store.transcript.readAll(id);
  await store.conversations.close(id, {});
  await store.removal.begin(id);
  await store.removal.finish(id);
  const status = statusOf(id);
  await store.conversations.create({ ...status, status });
  if (again) for (const { seq } of entries) await say(id, `other ${seq}`);
}

test('two workers that keep transcripts read what is in the database, whatever happens to the conversations', async () => {
  await using other = await openStore({ url, log: silent });
  const workers = [store, other];
  const check = async (ids: string[], worker = 0) => {
    for (const id of ids) expect(await workers[worker]?.transcript.current(id)).toEqual(await store.transcript.read(id));
  };
  const steps = array(record({ happens: acts, worker: nat(1), looks: boolean() }), { minLength: 4, maxLength: 25 });
  let number = 0;
  await assert(
    asyncProperty(steps, async (all) => {
      const ids = [await newConversation(store), await newConversation(store)];
      for (const { happens, worker, looks } of all) {
        await act(ids, happens, ++number);
        if (looks) await check(ids, worker);
      }
      await check(ids, 0);
      await check(ids, 1);
    }),
    { numRuns: 60 },
  );
}, 120_000);

test('workers that read while entries are added and changed at the same time end with what is in the database', async () => {
  await using other = await openStore({ url, log: silent });
  const id = await newConversation(store);
  await say(id, 'first');
  const changes = Array.from({ length: 60 }, (_, number) =>
    number % 3 === 0 ? store.transcript.replaceMessage(id, 1, text(`${number}`)) : say(id, `${number}`),
  );
  const reads = Array.from({ length: 60 }, (_, number) => (number % 2 === 0 ? store : other).transcript.current(id));
  for (const entries of await Promise.all(reads)) expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  await Promise.all(changes);
  for (const each of [store, other]) expect(await each.transcript.current(id)).toEqual(await store.transcript.read(id));
});

/** Kept transcripts, with the entries that the last read has taken from Postgres. */
function watched(mostBytes?: number) {
  const taken: number[] = [];
  const query: Database['query'] = async (...statement) => {
    const rows = await database.query<never>(...statement);
    taken.splice(0, taken.length, ...rows.flatMap(({ seq }) => seq ?? []));
    return rows;
  };
  return { read: createKeptTranscripts({ database: { ...database, query } }, mostBytes), taken };
}

test('only entries that are new are read from Postgres, also those of a fork', async () => {
  const source = await newConversation(store);
  for (const said of ['a', 'b', 'c']) await say(source, said);
  const ids = [source];
  await fork(ids, source, 2);
  const one = ids[1] ?? '';
  const { read, taken } = watched();
  for (const [id, first] of [
    [source, [1, 2, 3]],
    [one, [1, 2]],
  ] as const) {
    await read(id);
    expect(taken).toEqual(first);
    await read(id);
    expect(taken).toEqual([]);
    await say(id, 'new');
    await read(id);
    expect(taken).toEqual([first.length + 1]);
  }
  // A change of what a fork has from another conversation is a change of the fork.
  await store.transcript.replaceMessage(source, 1, text('changed'));
  expect((await read(one))[0]?.entry).toEqual(text('changed'));
  expect(taken).toEqual([1, 2, 3]);
  await store.transcript.replaceMessage(source, 3, text('not of the fork'));
  expect((await read(one)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test('a database that was restored from a backup is read again, also where its entries have the same places and ids', async () => {
  const id = await newConversation(store);
  await say(id, 'before');
  await store.transcript.append(id, 'turn-1', undefined, 'msg_1', text('lost'));
  const { read } = watched();
  expect((await read(id))[1]?.entry).toEqual(text('lost'));
  await database.query('test.restore', 'delete from transcript where conversation_id = $1 and seq = 2', [id]);
  await database.query('test.count', 'update conversations set transcript_seq = 1 where conversation_id = $1', [id]);
  expect(await read(id)).toHaveLength(1);
  await read(id);
  await store.transcript.append(id, 'turn-1', undefined, 'msg_1', text('lost'));
  await read(id);
  await database.query('test.restore', 'delete from transcript where conversation_id = $1 and seq = 2', [id]);
  await database.query('test.count', 'update conversations set transcript_seq = 1 where conversation_id = $1', [id]);
  await store.transcript.append(id, 'turn-1', undefined, 'msg_1', text('another'));
  expect((await read(id))[1]?.entry).toEqual(text('another'));
});

test('a change by a statement of anybody else is noticed', async () => {
  const id = await newConversation(store);
  for (const said of ['a', 'b']) await say(id, said);
  const { read } = watched();
  await read(id);
  const sql = `update transcript set entry = '{"role":"note","text":"redacted"}' where conversation_id = $1 and seq = 1`;
  await database.query('test.redact', sql, [id]);
  expect((await read(id)).map(({ entry }) => entry)).toEqual([{ role: 'note', text: 'redacted' }, text('b')]);
});

test('no caller can change what the others get', async () => {
  const id = await newConversation(store);
  await say(id, 'a');
  const { read } = watched();
  const entries = await read(id);
  const [first] = entries;
  if (first?.entry.role !== 'user') throw new Error('no message');
  const { content } = first.entry;
  expect(() => Object.assign(first, { turnId: 'other' })).toThrow(TypeError);
  expect(() => content.push({ type: 'text', text: 'more' })).toThrow(TypeError);
  expect(() => Object.assign(content[0] ?? {}, { text: 'changed' })).toThrow(TypeError);
  entries.pop();
  expect(await read(id)).toHaveLength(1);
});

test('transcripts share a limited memory: those that were used last stay, and one that is larger is not kept', async () => {
  const [one, two, large] = [await newConversation(store), await newConversation(store), await newConversation(store)];
  for (const id of [one, two]) await say(id, 'a'.repeat(5_000));
  await say(large, 'a'.repeat(20_000));
  const { read, taken } = watched(15_000);
  const reads = async (id: string) => {
    await read(id);
    return taken.length > 0;
  };
  for (const id of [one, two]) expect(await reads(id)).toBe(true);
  expect(await reads(one)).toBe(false);
  await say(two, 'b'.repeat(5_000));
  expect(await reads(two)).toBe(true);
  expect(await reads(two)).toBe(false);
  expect(await reads(one)).toBe(true);
  expect(await reads(large)).toBe(true);
  expect(await reads(large)).toBe(true);
});
