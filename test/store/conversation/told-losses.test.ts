import { sandboxIdOf } from '../../../src/contracts/ids.ts';
import type { Store } from '../../../src/store/store.ts';
import { begin, subAgent as addSubAgent } from '../sub-agents.ts';
import { newConversation, statusOf, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const subAgent = (path: string[], sandboxOf: string | undefined) => addSubAgent(store, path, sandboxOf);

const LOST = 'The sandbox was started anew.';

async function sandboxOf(conversationId: string): Promise<string> {
  const sandboxId = sandboxIdOf(conversationId);
  const names = { hostId: 'host', containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state: 'creating', options: {}, ...names });
  return sandboxId;
}

const notesIn = async (id: string) => (await store.transcript.read(id)).flatMap(({ entry }) => (entry.role === 'note' ? entry.text : []));
const toldIn = async (id: string) => (await store.events.read(id, 1)).map(({ type }) => type);

test('what a sandbox has lost is told to all that work in it, once, and to no others', async () => {
  const root = await begin(store, await newConversation(store));
  const guest = await subAgent([root], root);
  const below = await subAgent([root, guest.id], root);
  const apart = await subAgent([root], undefined);
  const itsGuest = await subAgent([root, apart.id], apart.id);
  const ended = await subAgent([root], root);
  await store.conversations.saveStatus(statusOf(ended.id, { state: 'closed', parent: ended.parent }), []);
  const others = [await begin(store, await newConversation(store)), apart.id, itsGuest.id, ended.id];
  const sandboxId = await sandboxOf(root);
  await store.sandboxes.change(sandboxId, 1, { state: 'running' });
  await store.sandboxes.change(sandboxId, 2, { state: 'lost', lost: 'its container is gone' });
  await store.sandboxes.change(sandboxId, 3, { state: 'running', lost: LOST });
  await store.sandboxes.change(sandboxId, 3, { state: 'running', lost: LOST });
  expect(await Promise.all([root, guest.id, below.id].map(notesIn))).toEqual([[LOST], [LOST], [LOST]]);
  expect((await Promise.all(others.map(notesIn))).flat()).toEqual([]);
  // What happens to it is in the log of the conversation that it belongs to.
  expect(await Promise.all([root, guest.id].map(toldIn))).toEqual([['sandbox.changed', 'sandbox.changed', 'sandbox.changed', 'note'], ['note']]);
});

test('the sandbox of a sub-agent that lost something is told to those that share it', async () => {
  const root = await begin(store, await newConversation(store));
  const owner = await subAgent([root], undefined);
  const guest = await subAgent([root, owner.id], owner.id);
  const sandboxId = await sandboxOf(owner.id);
  await store.sandboxes.change(sandboxId, 1, { state: 'stopped' });
  await store.sandboxes.change(sandboxId, 2, { state: 'running', lost: LOST });
  expect(await Promise.all([root, owner.id, guest.id].map(notesIn))).toEqual([[], [LOST], [LOST]]);
});
