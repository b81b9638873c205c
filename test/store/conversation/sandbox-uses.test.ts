import type { Store } from '../../../src/store/store.ts';
import { subAgent } from '../sub-agents.ts';
import { newCall, newConversation, statusOf, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

test('a sandbox is busy while calls of others work in it, and not with calls that a pause of its own conversation holds', async () => {
  const root = await newConversation(store, { state: 'running' });
  const one = await subAgent(store, [root], root);
  const two = await subAgent(store, [root, one.id], root);
  const busyFor = (ids: string[]) => Promise.all(ids.map((id) => store.sandboxUses.isBusy(root, id)));
  expect(await busyFor([root, one.id, two.id])).toEqual([false, false, false]);
  for (const id of [root, two.id]) {
    const call = await newCall(store, id);
    await store.toolCalls.claim(call.callId, call.hash);
  }
  expect(await busyFor([root, one.id, two.id])).toEqual([true, true, true]);
  const pause = (id: string, more: Parameters<typeof statusOf>[1]) => store.conversations.saveStatus(statusOf(id, { state: 'paused', ...more }), []);
  // The pause of a sub-agent alone leaves its command running.
  await pause(two.id, { parent: two.parent, paused: { by: 'operator' } });
  expect(await busyFor([root, one.id, two.id])).toEqual([true, true, true]);
  await pause(root, { paused: { by: 'budget', exhausted: 'turns', limit: 1 } });
  expect(await busyFor([root, one.id, two.id])).toEqual([true, true, true]);
  await pause(root, { paused: { by: 'operator' } });
  expect(await busyFor([root, one.id, two.id])).toEqual([false, false, false]);
});

test('the command of a sub-agent that alone is paused keeps the sandbox busy, for itself, too', async () => {
  const root = await newConversation(store);
  const guest = await subAgent(store, [root], root);
  const call = await newCall(store, guest.id);
  await store.toolCalls.claim(call.callId, call.hash);
  expect(await store.sandboxUses.isBusy(root, guest.id)).toBe(false);
  await store.conversations.saveStatus(statusOf(guest.id, { state: 'paused', paused: { by: 'operator' }, parent: guest.parent }), []);
  expect(await store.sandboxUses.isBusy(root, guest.id)).toBe(true);
  await store.conversations.saveStatus(statusOf(root, { state: 'paused', paused: { by: 'operator' } }), []);
  expect(await store.sandboxUses.isBusy(root, guest.id)).toBe(false);
});

test('a sub-agent is at work in a sandbox while it has a turn, at any depth', async () => {
  const root = await newConversation(store);
  expect(await store.sandboxUses.guestAtWork(root)).toBeUndefined();
  const one = await subAgent(store, [root], undefined);
  expect(await store.sandboxUses.guestAtWork(root)).toBeUndefined();
  const two = await subAgent(store, [root], root);
  expect(await store.sandboxUses.guestAtWork(root)).toBe(two.id);
  expect(await store.sandboxUses.guestAtWork(one.id)).toBeUndefined();
  await store.conversations.saveStatus(statusOf(two.id, { state: 'closing', parent: two.parent }), []);
  expect(await store.sandboxUses.guestAtWork(root)).toBeUndefined();
});
