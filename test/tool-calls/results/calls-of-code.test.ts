import type { Store } from '../../../src/store/store.ts';
import { createSettleCall, settleCallsOf, settleCallsOfCode } from '../../../src/tool-calls/results/settle-call.ts';
import { newCall, newConversation, useTestStore } from '../../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const NOT_RUN = 'What asked for this call has ended; it was not run.';
const CUT = 'Interrupted: the code that made this call ended before the call had a result.';

/** A call whose code has made three: one that was not begun, one that runs, and one that has its result. Ids are the parent's with `m1` to `m3`. */
async function codeWithCalls() {
  const conversationId = await newConversation(store);
  const parent = await newCall(store, conversationId);
  await store.toolCalls.claim(parent.callId, parent.hash);
  const call = { ...parent, tool: 'lab:look', parentCallId: parent.callId };
  const ids = [1, 2, 3].map((number) => `${parent.callId}-1m${number}`);
  for (const [index, callId] of ids.entries()) await store.toolCalls.proposeMethod({ ...call, callId, number: index + 1 }, []);
  for (const callId of ids.slice(1)) await store.toolCalls.claim(callId, parent.hash);
  await store.toolCalls.settle(ids[2] ?? '', 1, { state: 'finished', content: [{ type: 'text', text: 'seen' }], isError: false }, []);
  const results = async () => {
    const rows = await Promise.all(ids.map((callId) => store.toolCalls.get(callId)));
    return rows.map((row) => [row?.state, row?.content?.[0]]);
  };
  return { parent, ids, results };
}

const text = (told: string) => ({ type: 'text', text: told });

test('calls that code has left get a result which says whether they were run; a call that has one keeps it', async () => {
  const { parent, ids, results } = await codeWithCalls();
  await settleCallsOfCode(store, parent);
  await settleCallsOfCode(store, parent);
  expect(await results()).toEqual([
    ['interrupted', text(NOT_RUN)],
    ['interrupted', text(CUT)],
    ['finished', text('seen')],
  ]);
  const told = (await store.events.read(parent.conversationId, 1)).map(({ type, data }) => [type, data['callId']]);
  expect(told).toEqual(ids.slice(0, 2).map((callId) => ['tool.finished', callId]));
});

test('calls that the workflow owns are left to it', async () => {
  const { parent, ids, results } = await codeWithCalls();
  await settleCallsOfCode(store, { ...parent, openMethods: ids });
  expect((await results()).map(([state]) => state)).toEqual(['proposed', 'running', 'finished']);
});

test('a call that is settled from outside takes with it what its code has left, at any depth', async () => {
  const { parent, ids, results } = await codeWithCalls();
  const nested = { ...parent, callId: `${ids[1]}-1m1`, tool: 'lab:look', parentCallId: ids[1] ?? '', number: 1 };
  await store.toolCalls.proposeMethod(nested, []);
  await createSettleCall({ store })({ ...parent, settlement: 'failed', message: 'It failed.' });
  expect((await results()).map(([state]) => state)).toEqual(['interrupted', 'interrupted', 'finished']);
  expect(await store.toolCalls.get(nested.callId)).toMatchObject({ state: 'interrupted', content: [text(NOT_RUN)] });
  expect(await store.toolCalls.get(parent.callId)).toMatchObject({ state: 'failed', content: [text('It failed.')] });
});

test('the calls of a conversation whose workflow was ended from outside get a result which says whether they were run', async () => {
  const { parent, results } = await codeWithCalls();
  const waiting = await newCall(store, parent.conversationId);
  await settleCallsOf(store, parent.conversationId);
  const unknown = 'The workflow of the conversation was ended from outside; it is not known whether this call took effect.';
  const notRun = text('The workflow of the conversation was ended from outside before this call; it was not run.');
  expect(await results()).toEqual([
    ['interrupted', notRun],
    ['unknown', text(unknown)],
    ['finished', text('seen')],
  ]);
  expect(await store.toolCalls.get(parent.callId)).toMatchObject({ state: 'unknown', content: [text(unknown)] });
  expect(await store.toolCalls.get(waiting.callId)).toMatchObject({ state: 'interrupted', content: [notRun] });
  expect(await store.toolCalls.openOf(parent.conversationId)).toEqual([]);
});
