import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, newId, statusOf, useTestStore, silent } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const note = (text: string) => ({ type: 'note' as const, data: { text } });
const texts = (events: ConversationEvent[]) => events.map((event) => event.data.text);

test('events are numbered from 1 without gaps, in the order given', async () => {
  const id = await newConversation(store);
  await store.events.append(id, [note('a'), { ...note('b'), turnId: 'turn_1', stepId: 'step_1', attempt: 2 }]);
  await store.events.append(id, [note('c')]);
  const events = await store.events.read(id, 0);
  expect(events.map((event) => [event.seq, event.type])).toEqual([
    [1, 'conversation.started'],
    [2, 'note'],
    [3, 'note'],
    [4, 'note'],
  ]);
  expect(events[2]).toMatchObject({ conversationId: id, turnId: 'turn_1', stepId: 'step_1', attempt: 2, data: { text: 'b' } });
  expect(new Date(events[2]!.at).toISOString()).toBe(events[2]!.at);
  expect(texts(await store.events.read(id, 1, { limit: 2 }))).toEqual(['a', 'b']);
});

test('a page of large events ends early, has at least one event, and the next goes on behind it', async () => {
  const id = await newConversation(store);
  const compressed = 'a'.repeat(3_000_000);
  const random = randomBytes(2_000_000).toString('hex');
  await store.events.append(id, [compressed, compressed, compressed, random.repeat(2), random, random, 'small'].map(note));
  const pages: number[][] = [];
  for (let cursor = 1; ; cursor = pages.at(-1)!.at(-1)!) {
    const page = await store.events.read(id, cursor);
    if (page.length === 0) break;
    pages.push(page.map((event) => event.seq));
  }
  expect(pages).toEqual([[2, 3], [4, 5], [6, 7], [8]]);
  expect(texts(await store.events.read(id, 4, { limit: 1 }))).toEqual([random.repeat(2)]);
});

test('writers that race get numbers without gaps, and no batch is torn', async () => {
  const id = await newConversation(store);
  await Promise.all(Array.from({ length: 40 }, (_, index) => store.events.append(id, [note(`${index}-1`), note(`${index}-2`), note(`${index}-3`)])));
  const events = (await store.events.read(id, 1)).map((event) => ({ seq: event.seq, text: event.data.text as string }));
  expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 120 }, (_, index) => index + 2));
  for (let start = 0; start < events.length; start += 3) {
    const writer = events[start]!.text.split('-')[0];
    expect(events.slice(start, start + 3).map((event) => event.text)).toEqual([`${writer}-1`, `${writer}-2`, `${writer}-3`]);
  }
});

test('text that Postgres refuses is stored with the replacement character', async () => {
  const id = await newConversation(store);
  await store.events.append(id, [note('nul \0 lone \uD800 pair \u{1F600} escaped \\u0000 \u0001')]);
  expect(texts(await store.events.read(id, 1))).toEqual(['nul \uFFFD lone \uFFFD pair \u{1F600} escaped \\u0000 \u0001']);
});

test('an append to an unknown conversation is refused', async () => {
  await expect(store.events.append('conv_none', [note('a')])).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a follower gets old events, then new ones from another process, each once', async () => {
  const id = await newConversation(store);
  await store.events.append(id, [note('old')]);
  await using writer = await openStore({ url: url, log: silent });
  const stop = new AbortController();
  const seen: unknown[] = [];
  for await (const event of store.events.follow(id, 1, stop.signal)) {
    seen.push(event.data.text);
    if (seen.length === 1) await writer.events.append(id, [note('new 1'), note('new 2')]);
    if (seen.length === 3) await writer.events.append(id, [note('new 3')]);
    if (seen.length === 4) stop.abort();
  }
  expect(seen).toEqual(['old', 'new 1', 'new 2', 'new 3']);
});

test('a follower gets all old events, however many pages they fill', async () => {
  const id = await newConversation(store);
  const many = Array.from({ length: 1_001 }, (_, index) => note(String(index)));
  await store.events.append(id, [...many, note('a'.repeat(5_000_000)), note('last')]);
  const stop = new AbortController();
  const seen = texts(await collect(store.events.follow(id, 1, stop.signal), stop, many.length + 2));
  expect(seen.slice(0, many.length)).toEqual(many.map(({ data }) => data.text));
  expect(seen.at(-1)).toBe('last');
});

test('a follower outlives the loss of every database connection', async () => {
  const id = await newConversation(store);
  const stop = new AbortController();
  const follower = collect(store.events.follow(id, 1, stop.signal), stop, 2);
  await store.events.append(id, [note('before')]);
  await endConnections(url);
  await untilAppended(() => store.events.append(id, [note('after')]));
  expect(texts(await follower)).toEqual(['before', 'after']);
});

test('an abort ends a follower that waits', async () => {
  const id = await newConversation(store);
  const stop = new AbortController();
  const follower = collect(store.events.follow(id, 1, stop.signal), stop, 1);
  stop.abort();
  expect(await follower).toEqual([]);
});

test('closing the store ends its followers', async () => {
  const id = await newConversation(store);
  const other = await openStore({ url: url, log: silent });
  const follower = collect(other.events.follow(id, 1, new AbortController().signal), new AbortController(), 1);
  await other[Symbol.asyncDispose]();
  expect(await follower).toEqual([]);
});

async function collect(events: AsyncIterable<ConversationEvent>, stop: AbortController, count: number): Promise<ConversationEvent[]> {
  const seen: ConversationEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === count) stop.abort();
  }
  return seen;
}

async function endConnections(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()');
  await client.end();
}

/** The pool may hand out a connection before it has noticed its end; the write that fails was not made. */
async function untilAppended(append: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await append();
    } catch (error) {
      expect(error).toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
    }
  }
}

test('what the output events of a call have told is known by stream, over all attempts', async () => {
  const id = await newConversation(store);
  const output = (callId: string, stream: string, offset: number, bytes: number) => ({
    type: 'tool.output' as const,
    data: { callId, stream, offset, bytes, text: 'x' },
  });
  await store.events.append(id, [
    output('a', 'stdout', 0, 10),
    output('a', 'stderr', 0, 3),
    output('a', 'stdout', 10, 4),
    output('a', 'stdout', 5, 5),
    output('b', 'stdout', 0, 99),
  ]);
  expect(await store.events.toldOutput(id, 'a')).toEqual({ stdout: 14, stderr: 3 });
  expect(await store.events.toldOutput(id, 'none')).toEqual({ stdout: 0, stderr: 0 });
});

describe('events with keys', () => {
  const keyed = (text: string, key: string) => ({ ...note(text), key });

  test('are logged once, with no gap in the numbers, and without the key', async () => {
    const id = await newConversation(store);
    await store.events.append(id, [keyed('a', 'k1'), note('free'), keyed('b', 'k2')]);
    await store.events.append(id, [keyed('b again', 'k2'), note('free'), keyed('c', 'k3'), keyed('a again', 'k1')]);
    await store.events.append(id, [keyed('c again', 'k3')]);
    const events = await store.events.read(id, 1);
    expect(events.map(({ seq, data }) => [seq, data.text])).toEqual([
      [2, 'a'],
      [3, 'free'],
      [4, 'b'],
      [5, 'free'],
      [6, 'c'],
    ]);
    expect(events.some((event) => 'key' in event)).toBe(false);
  });

  test('the same key in another conversation is another event', async () => {
    for (const id of [await newConversation(store), await newConversation(store)]) {
      await store.events.append(id, [keyed('a', 'same')]);
      expect(texts(await store.events.read(id, 1))).toEqual(['a']);
    }
  });

  test('many at once: each once, in numbers without gaps, and none fails', async () => {
    const id = await newConversation(store);
    const writers = Array.from({ length: 8 }, (_, writer) =>
      store.events.append(id, [note(`own ${writer}`), keyed('shared', 'k'), keyed('more', `k${writer % 2}`)]),
    );
    await Promise.all(writers);
    const events = await store.events.read(id, 1);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 11 }, (_, index) => index + 2));
    const shared = events.flatMap(({ data }) => (typeof data.text === 'string' && !data.text.startsWith('own') ? [data.text] : []));
    expect(shared.toSorted()).toEqual(['more', 'more', 'shared']);
  });

  test('rows of workers of an earlier version have no key and stay valid', async () => {
    const id = await newConversation(store);
    const client = new Client(url);
    await client.connect();
    for (const seq of [2, 3]) {
      await client.query(`insert into events (conversation_id, seq, at, type, data) values ($1, $2, now(), 'note', '{"text":"old"}')`, [id, seq]);
    }
    await client.query('update conversations set event_seq = 3 where conversation_id = $1', [id]);
    await client.end();
    await store.events.append(id, [keyed('old', 'k')]);
    expect(texts(await store.events.read(id, 1))).toEqual(['old', 'old', 'old']);
  });
});

test('who waits for the end of a turn begins to read where it may be, whether or not the turn has started', async () => {
  const id = await newConversation(store);
  const event = (type: 'turn.started' | 'turn.finished', turnId: string) =>
    type === 'turn.started' ? { type, turnId, data: {} } : { type, turnId, data: { outcome: 'finished' as const } };
  await store.events.append(id, [event('turn.started', 'turn_1'), event('turn.finished', 'turn_1'), event('turn.finished', 'turn_2')]);
  expect(await store.events.beforeEnd(id, 'turn_1')).toBe(2);
  expect(await store.events.beforeEnd(id, 'turn_2')).toBe(3);
  expect(await store.events.beforeEnd(id, 'turn_3')).toBeUndefined();
  await store.messages.put(id, 'msg_3', 'three');
  expect(await store.events.beforeEnd(id, 'turn_3')).toBe(4);
  await store.transcript.append(id, 'turn_3', undefined, 'msg_3', { role: 'user', content: [] });
  expect(await store.events.beforeEnd(id, 'turn_3')).toBeUndefined();
  await store.conversations.saveStatus(statusOf(id, { state: 'running' }), []);
  expect(await store.events.beforeEnd(id, 'turn_3')).toBe(4);
  expect(await store.events.beforeEnd(newId('conv'), 'turn_1')).toBe(0);
});

test('who follows a conversation that is removed, with its last event unread, does not wait without end', async () => {
  const id = await newConversation(store);
  const stop = new AbortController();
  const read: string[] = [];
  const following = (async () => {
    for await (const { type } of store.events.follow(id, 0, stop.signal)) {
      read.push(type);
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query('delete from conversations where conversation_id = $1', [id]);
      await client.end();
    }
  })();
  await following;
  expect(read).toEqual(['conversation.started']);
  expect(stop.signal.aborted).toBe(false);
}, 30_000);
