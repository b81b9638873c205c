import type { NewEvent, Store } from '../../src/store/store.ts';
import type { CallResult } from '../../src/store/tool-call-rows.ts';
import { newCall, newConversation, useTestStore } from './support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const done = (text: string): CallResult => ({ state: 'finished', content: [{ type: 'text', text }], isError: false });
const started = (callId: string) => [{ type: 'tool.started' as const, turnId: 'turn_1', data: { callId, tool: 'shell:run' } }];
const finished = (callId: string) => [{ type: 'tool.finished' as const, turnId: 'turn_1', data: { callId, tool: 'shell:run' } }];

test('every claim gets a newer fence, and only the first one says that the call started', async () => {
  const id = await newConversation(store);
  const { callId, hash } = await newCall(store, id);
  const first = await store.toolCalls.claim(callId, hash, started(callId));
  const second = await store.toolCalls.claim(callId, hash, started(callId));
  expect(first).toMatchObject({ outcome: 'claimed', fence: 1, attempt: 1, call: { state: 'running', arguments: { command: 'true' } } });
  expect(second).toMatchObject({ outcome: 'claimed', fence: 2, attempt: 2 });
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.started']);
});

test('only the newest claimant may write the result', async () => {
  const id = await newConversation(store);
  const { callId, hash } = await newCall(store, id);
  await store.toolCalls.claim(callId, hash);
  await store.toolCalls.claim(callId, hash);
  expect(await store.toolCalls.settle(callId, 1, done('old'), finished(callId))).toBe(false);
  expect(await store.toolCalls.settle(callId, 2, done('new'), finished(callId))).toBe(true);
  expect(await store.toolCalls.settle(callId, 2, done('again'), finished(callId))).toBe(false);
  expect(await store.toolCalls.settle(callId, undefined, done('anybody'), finished(callId))).toBe(false);
  expect(await store.toolCalls.get(callId)).toMatchObject({ state: 'finished', content: [{ type: 'text', text: 'new' }], isError: false });
});

test('a result, its transcript entry and its events are stored together or not at all', async () => {
  const id = await newConversation(store);
  const { callId, hash } = await newCall(store, id);
  await store.toolCalls.claim(callId, hash);
  await store.toolCalls.settle(callId, 7, done('refused'), finished(callId));
  expect(await store.transcript.read(id)).toEqual([]);
  expect(await store.events.read(id, 1)).toEqual([]);
  await store.toolCalls.settle(callId, 1, done('kept'), finished(callId));
  expect(await store.transcript.read(id)).toMatchObject([
    {
      seq: 1,
      turnId: 'turn_1',
      stepId: 'step_1',
      entry: { role: 'tool', callId, tool: 'shell:run', content: [{ type: 'text', text: 'kept' }], isError: false },
    },
  ]);
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.finished']);
});

test('a claim of a settled call gets its result', async () => {
  const id = await newConversation(store);
  const { callId, hash } = await newCall(store, id);
  await store.toolCalls.settle(callId, undefined, { state: 'denied', content: [{ type: 'text', text: 'no' }], isError: true }, []);
  expect(await store.toolCalls.claim(callId, hash)).toMatchObject({ outcome: 'settled', call: { state: 'denied', isError: true } });
});

test('a claim with another hash is a mismatch, and a claim of an unknown call finds it missing', async () => {
  const id = await newConversation(store);
  const { callId } = await newCall(store, id);
  expect(await store.toolCalls.claim(callId, 'hash-2')).toMatchObject({ outcome: 'mismatch', call: { state: 'proposed', hash: 'hash-1' } });
  expect(await store.toolCalls.claim('call_none', 'hash-1')).toEqual({ outcome: 'missing' });
});

test('of two workers that race for one call, each gets a fence of its own and one result is stored', async () => {
  const id = await newConversation(store);
  const { callId, hash } = await newCall(store, id);
  const run = async (worker: number) => {
    const claim = await store.toolCalls.claim(callId, hash, started(callId));
    if (claim.outcome !== 'claimed') return claim.outcome === 'settled' ? 'late' : claim.outcome;
    return store.toolCalls.settle(callId, claim.fence, done(`worker ${worker}`), finished(callId));
  };
  const outcomes = await Promise.all(Array.from({ length: 8 }, (_, worker) => run(worker)));
  expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'mismatch' || outcome === 'missing')).toEqual([]);
  expect(await store.transcript.read(id)).toHaveLength(1);
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.started', 'tool.finished']);
});

test('calls of one step that settle at once all reach the transcript and the log, without gaps', async () => {
  const id = await newConversation(store);
  const calls = await Promise.all(Array.from({ length: 30 }, () => newCall(store, id)));
  await Promise.all(
    calls.map(async ({ callId, hash }) => {
      await store.toolCalls.claim(callId, hash, started(callId));
      await store.toolCalls.settle(callId, 1, done(callId), finished(callId));
    }),
  );
  expect((await store.transcript.read(id)).map((entry) => entry.seq)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  expect((await store.events.read(id, 0)).map((event) => event.seq)).toEqual(Array.from({ length: 61 }, (_, index) => index + 1));
});

test('proposing a call again changes nothing, and calls of a step keep their order and the order of their arguments', async () => {
  const id = await newConversation(store);
  const base = { conversationId: id, turnId: 'turn_1', stepId: 'step_9', tool: 'files:write', hash: 'h' };
  const calls = ['call_z', 'call_a', 'call_m'].map((name) => ({ ...base, callId: `${name}${id}`, arguments: { zeta: 1, alpha: name } }));
  await store.toolCalls.propose(calls);
  await store.toolCalls.propose([{ ...calls[1]!, arguments: { other: true } }]);
  const found = await store.toolCalls.ofStep(id, 'step_9');
  expect(found.map((call) => call.callId)).toEqual(calls.map((call) => call.callId));
  expect(JSON.stringify(found[1]?.arguments)).toBe('{"zeta":1,"alpha":"call_a"}');
});

test('a call can be edited until it starts', async () => {
  const id = await newConversation(store);
  const { callId } = await newCall(store, id);
  expect(await store.toolCalls.edit(callId, { command: 'false' }, 'hash-2')).toBe(true);
  expect(await store.toolCalls.claim(callId, 'hash-2')).toMatchObject({ outcome: 'claimed', call: { arguments: { command: 'false' } } });
  expect(await store.toolCalls.edit(callId, { command: 'late' }, 'hash-3')).toBe(false);
});

test('a call of an unknown conversation is refused', async () => {
  await expect(newCall(store, 'conv_none')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a new call of code is proposed and claimed in one go, and one that exists is claimed again without its events', async () => {
  const id = await newConversation(store);
  const parent = await newCall(store, id);
  const call = { ...parent, callId: `${parent.callId}-1m1`, number: 1, parentCallId: parent.callId };
  const requested: NewEvent[] = [{ type: 'tool.requested', turnId: call.turnId, stepId: call.stepId, data: { ...call, decision: 'allow', why: 'it may' } }];
  const events = { requested, started: started(call.callId) };
  const first = await store.toolCalls.claimMethod(call, events);
  expect(first).toMatchObject({
    outcome: 'claimed',
    fence: 1,
    attempt: 1,
    call: { ...parent, callId: call.callId, state: 'running', parentCallId: parent.callId },
  });
  expect(await store.toolCalls.claimMethod(call, events)).toMatchObject({ outcome: 'claimed', fence: 2, attempt: 2 });
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.requested', 'tool.started']);
  expect(await store.toolCalls.settle(call.callId, 1, done('late'), [])).toBe(false);
  expect(await store.toolCalls.claimMethod({ ...call, hash: 'other' }, events)).toMatchObject({ outcome: 'mismatch' });
});

test('a call of code is stored together with its result and events, once', async () => {
  const id = await newConversation(store);
  const parent = await newCall(store, id);
  const call = { ...parent, callId: `${parent.callId}-1m1`, number: 1, parentCallId: parent.callId };
  const events = [...started(call.callId), ...finished(call.callId)];
  const result = { ...done('{"seen":true}'), value: { seen: true } };
  expect(await store.toolCalls.recordMethod(call, result, events)).toBe('recorded');
  const stored = await store.toolCalls.get(call.callId);
  expect(stored).toMatchObject({ ...parent, callId: call.callId, fence: 1, parentCallId: parent.callId, ...result });
  expect(Date.parse(stored?.finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(stored?.startedAt ?? ''));
  expect(await store.toolCalls.recordMethod(call, done('other'), events)).toBe('exists');
  expect(await store.toolCalls.get(call.callId)).toEqual(stored);
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.started', 'tool.finished']);
  expect(await store.transcript.read(id)).toEqual([]);
  expect(await store.toolCalls.recordMethod({ ...call, callId: `${parent.callId}-1m2`, number: 2 }, result, events, 1)).toBe('missing');
});

test('a call of code is proposed with its events once, keeps the value that the code is given, and stays out of the transcript', async () => {
  const id = await newConversation(store);
  const parent = await newCall(store, id);
  const call = { ...parent, callId: `${parent.callId}-1m1`, number: 1, parentCallId: parent.callId };
  await store.toolCalls.proposeMethod(call, started(call.callId));
  await store.toolCalls.proposeMethod(call, started(call.callId));
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['tool.started']);
  expect(await store.toolCalls.get(call.callId)).toMatchObject({ state: 'proposed', parentCallId: parent.callId });
  await store.toolCalls.settle(call.callId, undefined, { ...done('null'), value: null }, finished(call.callId));
  expect(await store.toolCalls.get(call.callId)).toMatchObject({ state: 'finished', value: null });
  expect(await store.transcript.read(id)).toEqual([]);
  await store.toolCalls.settle(parent.callId, undefined, done('whole'), finished(parent.callId));
  expect(await store.transcript.read(id)).toMatchObject([{ seq: 1, entry: { callId: parent.callId } }]);
  expect(await store.toolCalls.get(parent.callId)).not.toHaveProperty('value');
});
