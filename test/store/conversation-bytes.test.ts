import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import type { Store } from '../../src/store/store.ts';
import type { CallResult, NewMethodCall } from '../../src/store/tool-call-rows.ts';
import { newCall, newConversation, silent, useTestStore } from './support.ts';

let store: Store;
let database: Database;
// Ahead of the store's own end, which finds connections that were left open.
afterAll(() => database.close());
useTestStore((opened) => {
  ({ store } = opened);
  database = openDatabase({ url: opened.url, log: silent, poolSize: 2 });
});

const KILOBYTE = 1024;
const done = (size: number): CallResult => ({
  state: 'finished',
  content: [{ type: 'text', text: 'done' }],
  isError: false,
  value: 'v'.repeat(size),
});
const note = (callId: string, size: number) => [{ type: 'tool.output' as const, turnId: 'turn_1', data: { callId, text: 'o'.repeat(size) } }];

/** What the tables say that a conversation takes up. */
async function measured(conversationId: string): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    'test.measured',
    `select (coalesce((select sum(octet_length(entry::text)) from transcript where conversation_id = $1), 0)
      + coalesce((select sum(octet_length(data::text)) from events where conversation_id = $1), 0)
      + coalesce((select sum(octet_length(arguments::text) + coalesce(octet_length(content::text), 0) + coalesce(octet_length(value::text), 0))
          from tool_calls where conversation_id = $1), 0))::float8 as bytes`,
    [conversationId],
  );
  return row?.bytes ?? 0;
}

async function newMethod(conversationId: string, number: number, size: number): Promise<NewMethodCall> {
  const callId = `${conversationId}-parent-1m${number}`;
  return {
    callId,
    conversationId,
    turnId: 'turn_1',
    stepId: 'step_1',
    tool: 'shell:run',
    hash: 'h',
    arguments: { text: 'a'.repeat(size) },
    number,
    parentCallId: 'p',
  };
}

test('everything that is stored is counted, and the result of a call of the model is stored once', async () => {
  const id = await newConversation(store);
  const before = (await store.conversations.get(id))?.status.storedBytes ?? -1;
  const { callId, hash } = await newCall(store, id);
  await store.toolCalls.claim(callId, hash, note(callId, KILOBYTE));
  const text = 'r'.repeat(20 * KILOBYTE);
  await store.toolCalls.settle(callId, 1, { state: 'finished', content: [{ type: 'text', text }], isError: false }, note(callId, KILOBYTE));
  await store.transcript.append(id, 'turn_1', undefined, 'key', { role: 'note', text });
  await store.events.append(id, note(callId, 2 * KILOBYTE));
  const method = await newMethod(id, 1, 5 * KILOBYTE);
  await store.toolCalls.claimMethod(method, { requested: note(method.callId, 10), started: [] });
  await store.toolCalls.settle(method.callId, 1, done(3 * KILOBYTE), []);
  const short = await newMethod(id, 2, 2 * KILOBYTE);
  await store.toolCalls.recordMethod(
    short,
    { ...done(0), value: 'v'.repeat(KILOBYTE), content: [{ type: 'text', text: 'v'.repeat(KILOBYTE) }] },
    note(short.callId, 10),
  );
  const counted = (await store.conversations.storedBytes(id)) - before;
  const really = await measured(id);
  expect(Math.abs(counted - really)).toBeLessThan(2 * KILOBYTE);
  expect(really).toBeLessThan(58 * KILOBYTE);
  expect(await store.toolCalls.get(callId)).toMatchObject({ state: 'finished', content: [{ type: 'text', text }] });
  expect((await store.toolCalls.ofStep(id, 'step_1'))[0]?.content).toBeDefined();
});

test('calls of code at once, by several workers, and the same one again, pass the limit by one of them at the most', async () => {
  for (let round = 0; round < 5; round += 1) {
    const id = await newConversation(store);
    const limit = 60 * KILOBYTE + round * 7000;
    const sizes = Array.from({ length: 60 }, (_, index) => ((index * 7919 + round * 104_729) % 9000) + 1);
    const attempts = sizes.flatMap((size, index) => [index, ...(index % 5 === 0 ? [index] : [])].map((number) => ({ size, number })));
    const outcomes = await Promise.all(
      attempts.map(async ({ size, number }) => {
        const call = await newMethod(id, number, size);
        if (number % 3 === 0) return store.toolCalls.proposeMethod(call, note(call.callId, 100), limit);
        return (await store.toolCalls.claimMethod(call, { requested: note(call.callId, 100), started: [] }, limit)).outcome !== 'missing';
      }),
    );
    expect(outcomes).toContain(true);
    expect(outcomes).toContain(false);
    expect(await store.conversations.storedBytes(id)).toBeLessThan(limit + 10_000);
    expect(await measured(id)).toBeLessThan(limit + 10_000);
    // One that is there already goes on, whatever is stored by now.
    const there = attempts[outcomes.indexOf(true)];
    const again = await newMethod(id, there?.number ?? 0, there?.size ?? 0);
    expect((await store.toolCalls.claimMethod(again, { requested: [], started: [] }, 1)).outcome).toBe('claimed');
  }
});

/** Repeats what it gives, so that a failure can be run again. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('calls whose workers die, that are tried again, edited and settled by several workers keep to the limit, and what is counted is what is stored', async () => {
  const [most, atOnce, framing] = [9 * KILOBYTE, 6, 300];
  for (const seed of [1, 2, 3, 4]) {
    const random = randomOf(seed);
    const id = await newConversation(store);
    const before = { counted: await store.conversations.storedBytes(id), measured: await measured(id) };
    const limit = before.counted + 80 * KILOBYTE;
    const seen = { refused: 0 };
    const attempt = async (number: number, size: number): Promise<void> => {
      const method = await newMethod(id, number, size);
      const once = async (): Promise<void> => {
        if (random(4) === 0) await store.toolCalls.proposeMethod(method, note(method.callId, 50), limit);
        const claimed = await store.toolCalls.claimMethod(method, { requested: note(method.callId, 50), started: note(method.callId, 20) }, limit);
        if (claimed.outcome === 'missing') seen.refused += 1;
        // A worker that died after its claim settles nothing; one that was thought dead settles with a fence that is too old.
        if (claimed.outcome !== 'claimed' || random(3) === 0) return;
        const result = random(2) === 0 ? done(random(most)) : { ...done(0), value: 'same', content: [{ type: 'text' as const, text: 'same' }] };
        await Promise.all([1, 2].map(() => store.toolCalls.settle(method.callId, claimed.fence, result, note(method.callId, 20))));
      };
      await Promise.all([once(), once()]);
      await once();
    };
    for (let number = 1; number <= 60 && seen.refused < 20; number += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, (_, index) => attempt(number + index, random(most) + 1)));
    }
    const { callId } = await newCall(store, id);
    for (const size of [4 * KILOBYTE, 4 * KILOBYTE, 10]) await store.toolCalls.edit(callId, { command: 'e'.repeat(size) }, 'hash-2');
    const events = (await store.events.read(id, 0)).length;
    const [counted, really] = [(await store.conversations.storedBytes(id)) - before.counted, (await measured(id)) - before.measured];
    expect({ seed, wasReached: seen.refused > 0 }).toEqual({ seed, wasReached: true });
    // Each call in flight adds its arguments before, and its value after, the others are refused.
    expect(counted).toBeLessThan(limit - before.counted + atOnce * (2 * most + KILOBYTE));
    expect(counted - really).toBeGreaterThanOrEqual(0);
    expect(counted - really).toBeLessThan(events * framing);
  }
}, 60_000);

test('a result of code that is its value as text is stored once, and read as before', async () => {
  const id = await newConversation(store);
  for (const [index, value] of ['v'.repeat(20 * KILOBYTE), { list: [1, { '2': null }], text: 'é\n' }, 'other'].entries()) {
    const method = await newMethod(id, index, 1);
    const [before] = [await measured(id), await store.toolCalls.claimMethod(method, { requested: [], started: [] })];
    const text = value === 'other' ? 'not the value' : typeof value === 'string' ? value : JSON.stringify(value);
    await store.toolCalls.settle(method.callId, 1, { state: 'finished', content: [{ type: 'text', text }], isError: false, value }, []);
    expect(await store.toolCalls.get(method.callId)).toMatchObject({ value, content: [{ type: 'text', text }] });
    expect((await measured(id)) - before).toBeLessThan(21 * KILOBYTE);
  }
});

test('what calls of conversations took up that were closed long ago is removed, once, and nothing of open or newer ones', async () => {
  const make = async (state: 'closed' | 'idle', days: number) => {
    const id = await newConversation(store, { state });
    const { callId, hash } = await newCall(store, id);
    await store.toolCalls.claim(callId, hash, note(callId, 20 * KILOBYTE));
    await store.toolCalls.settle(callId, 1, { ...done(10), content: [{ type: 'text', text: 'r'.repeat(20 * KILOBYTE) }] }, []);
    await store.transcript.append(id, 'turn_1', undefined, 'said', { role: 'note', text: 'kept' });
    const large = { text: 'a'.repeat(20 * KILOBYTE) };
    const asked = { type: 'tool-call' as const, callId, tool: 'shell:run', arguments: large };
    await store.transcript.append(id, 'turn_1', 'step_1', 'answer', { role: 'assistant', parts: [{ type: 'text', text: 'also kept' }, asked] });
    await store.transcript.append(id, 'turn_1', 'step_1', `edited-${callId}-hash`, { role: 'note', text: large.text });
    await store.events.append(id, [
      { type: 'tool.approval-requested', turnId: 'turn_1', data: { callId, tool: 'shell:run', hash: 'h', why: 'w', arguments: large, expiresAtMs: 1 } },
      { type: 'tool.finished', turnId: 'turn_1', data: { callId, tool: 'shell:run', isError: false, text: large.text, durationMs: 1 } },
      { type: 'turn.finished', turnId: 'turn_1', data: { outcome: 'completed' } },
    ]);
    await database.query(
      'test.age',
      `update conversations set updated_at = clock_timestamp() - make_interval(days => $2::integer) where conversation_id = $1`,
      [id, days],
    );
    return { id, callId };
  };
  const [old, fresh, open] = [await make('closed', 91), await make('closed', 89), await make('idle', 400)];
  expect(await store.conversations.compact(90, 100)).toBe(1);
  expect(await store.conversations.compact(90, 100)).toBe(0);
  expect(await measured(old.id)).toBeLessThan(2 * KILOBYTE);
  for (const { id } of [fresh, open]) expect(await measured(id)).toBeGreaterThan(40 * KILOBYTE);
  expect(JSON.stringify(await store.transcript.read(old.id))).toMatch(/removed: the conversation was closed long ago.*kept.*also kept/);
  expect(await store.toolCalls.get(old.callId)).toMatchObject({ state: 'finished' });
});
