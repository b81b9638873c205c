import type { PlanItem } from '../../../src/contracts/plan/plan.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const plan = (text: string): PlanItem[] => [{ text, status: 'pending' }];
const note = (conversationId: string, key: string) => store.transcript.append(conversationId, 'turn_1', undefined, key, { role: 'note', text: key });

test('a call writes its plan once, however often and late it is repeated', async () => {
  const conversationId = await newConversation(store);
  const place = { conversationId, turnId: 'turn_1' };
  expect(await store.plans.newest(conversationId)).toBeUndefined();
  const write = (callId: string, text: string) => store.plans.write({ ...place, callId }, plan(text));
  await Promise.all([write('call_1', 'one'), write('call_1', 'one'), write('call_1', 'one')]);
  await write('call_2', 'two');
  await write('call_1', 'one');
  expect(await store.plans.newest(conversationId)).toEqual(plan('two'));
  expect((await store.conversations.get(conversationId))?.status.plan).toEqual(plan('two'));
  const events = (await store.events.read(conversationId, 0)).filter(({ type }) => type === 'plan.changed');
  expect(events.map(({ data }) => data['callId'])).toEqual(['call_1', 'call_2']);
  await store.plans.write({ ...place, callId: 'call_3' }, []);
  expect((await store.conversations.get(conversationId))?.status.plan).toBeUndefined();
  await store.plans.write({ conversationId: newId('conv'), turnId: 'turn_1', callId: 'call_1' }, plan('nowhere'));
});

test('odd characters are stored as what Postgres takes', async () => {
  const conversationId = await newConversation(store);
  await store.plans.write({ conversationId, turnId: 'turn_1', callId: 'call_1' }, plan('a\0b\uD800'));
  expect(await store.plans.newest(conversationId)).toEqual(plan('a\uFFFDb\uFFFD'));
});

test('a rewind takes a plan back, and a rewind to the state before brings it again', async () => {
  const conversationId = await newConversation(store);
  const checkpoint = async (number: number, rewindId?: string) => {
    const at = new Date(Date.UTC(2027, 0, number)).toISOString();
    const made = { number, turnId: 'turn_1', at, files: 0, bytes: 0, changed: 0, addedBytes: 0, leftOut: 0, ...(rewindId !== undefined && { rewindId }) };
    const id = await store.checkpoints.add(conversationId, made, 1);
    return (await store.checkpoints.kept(conversationId)).find(({ checkpointId }) => checkpointId === id);
  };
  const write = (callId: string, text: string) => store.plans.write({ conversationId, turnId: 'turn_1', callId }, plan(text));
  await note(conversationId, 'a');
  await write('call_1', 'first');
  const first = await checkpoint(1);
  await note(conversationId, 'b');
  await write('call_2', 'second');
  const before = await checkpoint(2, 'rewind_1');
  if (!first || !before) throw new Error('no checkpoint');
  const rewound = { checkpointId: first.checkpointId, before: before.checkpointId, transcriptSeq: first.transcriptSeq, written: 0, removed: 0, failed: 0 };
  await store.checkpoints.rewind(conversationId, first, 'rewind_1', rewound);
  expect(await store.plans.newest(conversationId)).toEqual(plan('first'));
  await store.checkpoints.rewind(conversationId, before, 'rewind_2', rewound);
  expect(await store.plans.newest(conversationId)).toEqual(plan('second'));
});
