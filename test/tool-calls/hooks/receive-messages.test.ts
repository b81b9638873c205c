import type { StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { receiveMessages } from '../../../src/tool-calls/hooks/receive-messages.ts';
import { args, bench, hooked, type Answer } from './support.ts';

const user = (text: string, more: object[] = []): TranscriptEntry => ({ role: 'user', content: [{ type: 'text', text }, ...more] as never[] });
const answer: TranscriptEntry = { role: 'assistant', parts: [{ type: 'text', text: 'Yes.' }] };
const stored = (entries: TranscriptEntry[], turnId = 'turn_1') => entries.map((entry, index): StoredEntry => ({ seq: index + 1, turnId, at: '', entry }));

async function receive(transcript: StoredEntry[], reply: Answer) {
  const { hooks, registry, agent, store, sent, replaced } = bench([hooked('gate', 'received', { gate: { answer: reply } })]);
  const { transcript: after, said } = await receiveMessages({ store, registry, agent, hooks }, args, transcript);
  return { texts: after.map(({ entry }) => (entry.role === 'user' ? entry.content : entry.role)), said, sent, replaced };
}

test('messages that no answer follows are given, each once', async () => {
  const seen: unknown[] = [];
  await receive(stored([user('one'), answer, user('two'), user('three')]), (value) => (seen.push(value['text']), {}));
  expect(seen).toEqual(['two', 'three']);
  await receive(stored([user('of another turn')], 'turn_0'), (value) => (seen.push(value['text']), {}));
  expect(seen).toEqual(['two', 'three']);
});

test('a changed text is stored, with what the message has besides', async () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw==' };
  const { texts, said, replaced } = await receive(stored([user('sesame', [image])]), (value) => ({ value: { ...value, text: '***' } }));
  const content = [{ type: 'text', text: '***' }, image];
  expect([texts, said]).toEqual([[content], undefined]);
  expect(replaced).toEqual([[1, { role: 'user', content }]]);
});

test('of a message that is stopped nothing remains, and what the plugin sends is the answer', async () => {
  const picture = { type: 'image' as const, mediaType: 'image/png', data: 'iVBORw==' };
  const found = await receive(stored([user('closed?')]), () => ({ stopped: true, sent: [{ type: 'text', text: 'Closed.' }, picture] }));
  expect(found.texts).toEqual([[{ type: 'text', text: '(stopped by gate)' }]]);
  expect([found.said, found.sent]).toEqual(['Closed.', [picture]]);
  expect((await receive(stored([user('spam')]), () => ({ stopped: true }))).said).toBe('(no answer)');
});

test('the model answers when one of several messages goes on, and what was sent for the other is sent', async () => {
  const found = await receive(stored([user('closed?'), user('open?')]), (value) =>
    value['text'] === 'closed?' ? { stopped: true, sent: [{ type: 'text', text: 'Closed.' }] } : {},
  );
  expect([found.said, found.sent]).toEqual([undefined, [{ type: 'text', text: 'Closed.' }]]);
});

test('what plugins make of a message, and send, has the bounds of messages: it would be a part of each prompt', async () => {
  const long = 'n'.repeat(1_000_000);
  const picture = { type: 'image' as const, mediaType: long, data: 'iVBORw==' };
  const found = await receive(stored([user('sesame')]), (value) => ({ value: { ...value, text: long }, sent: [{ type: 'text', text: long }, picture] }));
  expect(JSON.stringify(found.replaced).length).toBeLessThan(101_000);
  expect(found.sent).toHaveLength(2);
  expect(JSON.stringify(found.sent).length).toBeLessThan(101_000);
  const stopped = await receive(stored([user('closed?')]), () => ({ stopped: true, sent: [{ type: 'text', text: long }] }));
  expect(stopped.said?.length).toBeLessThan(101_000);
});
