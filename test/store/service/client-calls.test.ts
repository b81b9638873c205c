import { array, asyncProperty, assert, constantFrom, oneof, record, constant } from 'fast-check';
import { Client } from 'pg';
import type { Store } from '../../../src/store/store.ts';
import { newCall, newConversation, useTestStore } from '../support.ts';

/** Calls that clients run: who has them, and which result counts. */
let store: Store;
let client: Client;
// Before the database goes.
afterAll(() => client.end());
useTestStore(({ store: opened, url }) => {
  store = opened;
  client = new Client(url);
});
beforeAll(() => client.connect());

const digest = (text: string) => Buffer.from(text.padEnd(32, '-'));
const given = (result: string) => ({ result, isError: false, digest: digest(result) });

/** A call that runs, and waits for a client. */
async function waiting(timeoutMs = 600_000) {
  const conversationId = await newConversation(store);
  const { callId, hash } = await newCall(store, conversationId, { tool: 'client:open_file' });
  await store.toolCalls.claim(callId, hash);
  await store.clientCalls.open({ callId, name: 'open_file', timeoutMs });
  return { conversationId, callId };
}

test('a call is opened once, and keeps its deadline', async () => {
  const { conversationId, callId } = await waiting();
  const first = await store.clientCalls.get(conversationId, callId);
  const again = await store.clientCalls.open({ callId, name: 'open_file', timeoutMs: 1 });
  expect(again).toMatchObject({ state: 'waiting', isOpen: true, deadline: first?.deadline });
  expect(first?.leftMs).toBeGreaterThan(590_000);
});

test('a call that does not run is not opened, and one that has its result is open no more', async () => {
  const conversationId = await newConversation(store);
  const { callId, hash } = await newCall(store, conversationId);
  expect(await store.clientCalls.open({ callId, name: 'open_file', timeoutMs: 0 })).toBeUndefined();
  await store.toolCalls.claim(callId, hash);
  expect(await store.clientCalls.open({ callId, name: 'open_file', timeoutMs: 0 })).toMatchObject({ isOpen: true });
  await store.toolCalls.settle(callId, undefined, { state: 'interrupted', content: [], isError: true }, []);
  expect(await store.clientCalls.get(conversationId, callId)).toMatchObject({ isOpen: false });
  expect(await store.clientCalls.claim(callId, 'a', 1000)).toBe(false);
  expect(await store.clientCalls.answer(callId, 'a', given('late'))).toBe(false);
});

test('a closed conversation takes no result, whoever has closed it', async () => {
  const { conversationId, callId } = await waiting();
  await store.conversations.close(conversationId, {});
  expect(await store.clientCalls.claim(callId, 'a', 1000)).toBe(false);
  expect((await store.clientCalls.waiting(conversationId))?.calls).toEqual([]);
});

test('the calls that wait are listed, oldest first, with the number of the last event', async () => {
  const { conversationId, callId } = await waiting();
  const second = await newCall(store, conversationId, { tool: 'client:open_file' });
  await store.toolCalls.claim(second.callId, second.hash);
  await store.clientCalls.open({ callId: second.callId, name: 'open_file', timeoutMs: 0 });
  expect(await store.clientCalls.waiting(conversationId)).toMatchObject({ seq: 1, calls: [{ callId }, { callId: second.callId }] });
  await store.clientCalls.answer(callId, undefined, given('done'));
  expect((await store.clientCalls.waiting(conversationId))?.calls.map((call) => call.callId)).toEqual([second.callId]);
  expect(await store.clientCalls.waiting('conv_none')).toBeUndefined();
});

test('a result stays until the call has its own, and is known again after that', async () => {
  const { conversationId, callId } = await waiting();
  await store.clientCalls.answer(callId, undefined, { ...given('x'), result: null });
  expect(await store.clientCalls.end(callId)).toEqual({ claims: 0, answer: { result: null, isError: false } });
  expect(await store.clientCalls.end(callId)).toEqual({ claims: 0, answer: { result: null, isError: false } });
  await store.clientCalls.forget(callId);
  expect(await store.clientCalls.end(callId)).toEqual({ claims: 0 });
  expect((await store.clientCalls.get(conversationId, callId))?.digest).toEqual(digest('x'));
});

type Action =
  | { do: 'claim' | 'release'; who: 'a' | 'b' }
  | { do: 'answer'; who: 'a' | 'b' | undefined; result: string }
  | { do: 'the lease passes' | 'the deadline passes' | 'expire' | 'end' };

const action = oneof(
  record({ do: constantFrom('claim' as const, 'release' as const), who: constantFrom('a' as const, 'b' as const) }),
  record({ do: constant('answer' as const), who: constantFrom('a' as const, 'b' as const, undefined), result: constantFrom('1', '2') }),
  record({ do: constantFrom('the lease passes' as const, 'the deadline passes' as const, 'expire' as const, 'end' as const) }),
);

test('whatever two tabs and a worker do, and wherever one of them dies, one result counts at most, and none of a tab whose call another has', async () => {
  await assert(
    asyncProperty(array(action, { maxLength: 14 }), async (actions) => {
      const { conversationId, callId } = await waiting();
      const model = { state: 'waiting', overdue: false, holder: undefined as string | undefined, isHeld: false, result: undefined as string | undefined };
      for (const one of actions) await step(callId, model, one);
      const call = await store.clientCalls.get(conversationId, callId);
      expect([call?.state, call?.digest?.toString()]).toEqual([model.state, model.result && digest(model.result).toString()]);
    }),
    { numRuns: 60 },
  );
}, 60_000);

interface Model {
  state: string;
  overdue: boolean;
  holder: string | undefined;
  isHeld: boolean;
  result: string | undefined;
}

async function step(callId: string, model: Model, one: Action): Promise<void> {
  if ('who' in one) return stepOfTab(callId, model, one);
  switch (one.do) {
    case 'the lease passes':
      await client.query(`update client_calls set held_until = clock_timestamp() - interval '1 s' where call_id = $1 and held_until is not null`, [callId]);
      model.isHeld = false;
      return;
    case 'the deadline passes':
      await client.query(`update client_calls set deadline_at = clock_timestamp() - interval '1 s' where call_id = $1`, [callId]);
      model.overdue = true;
      return;
    case 'expire': {
      const expires = model.state === 'waiting' && model.overdue;
      expect(await store.clientCalls.expire(callId)).toBe(expires);
      if (expires) model.state = 'ended';
      return;
    }
    case 'end':
      expect((await store.clientCalls.end(callId))?.answer).toEqual(model.result === undefined ? undefined : { result: model.result, isError: false });
      model.state = 'ended';
  }
}

async function stepOfTab(callId: string, model: Model, one: Extract<Action, { who: unknown }>): Promise<void> {
  const mayChange = model.state === 'waiting' && !model.overdue && (!model.isHeld || model.holder === one.who);
  switch (one.do) {
    case 'claim':
      expect(await store.clientCalls.claim(callId, one.who, 300_000)).toBe(mayChange);
      if (mayChange) Object.assign(model, { holder: one.who, isHeld: true });
      return;
    case 'release':
      await store.clientCalls.release(callId, one.who);
      if (model.state === 'waiting' && model.holder === one.who) Object.assign(model, { holder: undefined, isHeld: false });
      return;
    case 'answer':
      expect(await store.clientCalls.answer(callId, one.who, given(one.result))).toBe(mayChange);
      if (mayChange) Object.assign(model, { state: 'answered', result: one.result });
  }
}
