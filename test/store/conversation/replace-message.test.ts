import type { Store } from '../../../src/store/store.ts';
import { newConversation, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => {
  ({ store } = opened);
});

const said = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });

test('a message gets another content, and its bytes are counted; nothing else is replaced', async () => {
  const id = await newConversation(store);
  await store.transcript.append(id, 'turn_1', undefined, 'msg_1', said('Open sesame'));
  await store.transcript.append(id, 'turn_1', undefined, 'note_1', { role: 'note', text: 'kept' });
  const [message, note] = await store.transcript.read(id);
  const before = await store.conversations.storedBytes(id);
  for (let attempt = 0; attempt < 2; attempt += 1) await store.transcript.replaceMessage(id, message?.seq ?? 0, said('Open ***'));
  await store.transcript.replaceMessage(id, note?.seq ?? 0, said('not kept'));
  expect((await store.transcript.read(id)).map(({ entry }) => entry)).toEqual([said('Open ***'), { role: 'note', text: 'kept' }]);
  expect(await store.conversations.storedBytes(id)).toBe(before - 'sesame'.length + '***'.length);
});
