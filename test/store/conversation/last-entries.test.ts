import type { TranscriptEntry } from '../../../src/contracts/transcript.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, statusOf, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const call = { type: 'tool-call', callId: 'call_1', tool: 'shell:run', arguments: {} } as const;
const user = (said: string): TranscriptEntry => ({ role: 'user', content: [{ type: 'text', text: said }] });
const agent = (...texts: string[]): TranscriptEntry & { role: 'assistant' } => ({
  role: 'assistant',
  parts: [...texts.map((text) => ({ type: 'text', text }) as const), call],
});

let entries = 0;
async function add(id: string, turnId: string, ...all: TranscriptEntry[]): Promise<void> {
  for (const entry of all) await store.transcript.append(id, turnId, undefined, `key-${(entries += 1)}`, entry);
}

test('the last text of a turn is that of its newest answer with a text, whatever came after it', async () => {
  const id = await newConversation(store);
  await add(id, 'turn_1', user('one'), agent('First. ', 'Second.'), agent(), agent(''), { role: 'note', text: 'noted' });
  await add(id, 'turn_2', user('two'), agent());
  await add(id, 'turn_3', user('three'), agent('Third.'), agent('Fourth.'));
  expect(await store.transcript.lastSaid(id, 'turn_1')).toEqual({ text: 'First. Second.' });
  expect(await store.transcript.lastSaid(id, 'turn_2')).toEqual({ text: '' });
  expect(await store.transcript.lastSaid(id, 'turn_3')).toEqual({ text: 'Fourth.' });
  expect(await store.transcript.lastSaid(id, 'turn_4')).toEqual({ text: '' });
  expect(await store.transcript.lastSaid(newId('conv'), 'turn_1')).toEqual({ text: '' });
});

test('a turn says whether its last answer was cut off, also when that has no text', async () => {
  const id = await newConversation(store);
  const reasoning = (text: string): TranscriptEntry => ({ role: 'assistant', parts: [{ type: 'reasoning', text }], cutOff: 'length' });
  await add(id, 'turn_1', user('one'), { ...agent('Half'), cutOff: 'length' });
  await add(id, 'turn_2', user('two'), { ...agent('Half'), cutOff: 'content-filter' }, agent('Whole.'));
  await add(id, 'turn_3', user('three'), agent('I think.'), reasoning('Hm'));
  expect(await store.transcript.lastSaid(id, 'turn_1')).toEqual({ text: 'Half', cutOff: 'length' });
  expect(await store.transcript.lastSaid(id, 'turn_2')).toEqual({ text: 'Whole.' });
  expect(await store.transcript.lastSaid(id, 'turn_3')).toEqual({ text: 'I think.', cutOff: 'length' });
});

test('a fork has the last entry and the last text of what it reads of its source, until it has its own', async () => {
  const source = await newConversation(store);
  await add(source, 'turn_1', user('one'), agent('First.'));
  await add(source, 'turn_2', user('two'), agent('Second.'));
  const id = newId('conv');
  const status = statusOf(id, { forkedFrom: { conversationId: source, transcriptSeq: 3 } });
  const place = { conversationId: source, transcriptSeq: 3, hidden: [3], files: 'none' as const, isShown: true };
  await store.forks.create({ ...status, status }, place, [{ type: 'conversation.started', data: {} }]);
  expect(await store.transcript.last(id)).toMatchObject({ seq: 2, turnId: 'turn_1' });
  expect(await store.transcript.lastSaid(id, 'turn_1')).toEqual({ text: 'First.' });
  expect(await store.transcript.lastSaid(id, 'turn_2')).toEqual({ text: '' });
  await add(id, 'turn_5', user('three'));
  expect(await store.transcript.last(id)).toMatchObject({ seq: 4, turnId: 'turn_5' });
  expect(await store.transcript.last(await newConversation(store))).toBeUndefined();
});
