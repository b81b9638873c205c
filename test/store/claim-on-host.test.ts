import type { Store } from '../../src/store/store.ts';
import type { SandboxState } from '../../src/store/sandbox-rows.ts';
import { newCall, newConversation, newId, statusOf, useTestStore } from './support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

async function withSandbox(conversationId: string, state: SandboxState = 'running'): Promise<string> {
  const sandboxId = newId('sbx');
  const row = { sandboxId, conversationId, tenantId: 'default', state, hostId: 'first', containerName: sandboxId, volumeName: sandboxId, options: {} };
  await store.sandboxes.ensure(row);
  return sandboxId;
}

const events = (callId: string) => [{ type: 'tool.started' as const, turnId: 'turn_1', data: { callId, tool: 'shell:run' } }];

test('a call is not claimed on another host than that of its sandbox, and nothing says that it has started', async () => {
  const id = await newConversation(store);
  await withSandbox(id);
  const { callId, hash } = await newCall(store, id);
  expect(await store.toolCalls.claimOn('second', callId, hash, events(callId))).toBeUndefined();
  expect(await store.toolCalls.get(callId)).toMatchObject({ state: 'proposed', fence: 0 });
  expect(await store.events.read(id, 1)).toEqual([]);
  // The attempt on its host is the first one.
  expect(await store.toolCalls.claimOn('first', callId, hash, events(callId))).toMatchObject({ outcome: 'claimed', attempt: 1 });
  expect((await store.events.read(id, 1)).map(({ type }) => type)).toEqual(['tool.started']);
});

test.each<SandboxState>(['archived', 'destroyed'])('a sandbox that is %s is on no host', async (state) => {
  const id = await newConversation(store);
  await withSandbox(id, state);
  const { callId, hash } = await newCall(store, id);
  expect(await store.toolCalls.claimOn('second', callId, hash)).toMatchObject({ outcome: 'claimed' });
});

test('a conversation without a sandbox is on no host', async () => {
  const { callId, hash } = await newCall(store, await newConversation(store));
  expect(await store.toolCalls.claimOn('second', callId, hash)).toMatchObject({ outcome: 'claimed' });
});

test('the call of a sub-agent that shares a sandbox is claimed on the host of that sandbox', async () => {
  const owner = await newConversation(store);
  await withSandbox(owner);
  const parent = { conversationId: owner, callId: 'call_1', depth: 1, path: [], sandbox: { use: 'shared' as const, conversationId: owner } };
  const conversationId = newId('conv');
  const status = statusOf(conversationId, { parent });
  await store.conversations.create({ ...status, status });
  const { callId, hash } = await newCall(store, conversationId);
  expect(await store.toolCalls.claimOn('second', callId, hash)).toBeUndefined();
  expect(await store.toolCalls.claimOn('first', callId, hash)).toMatchObject({ outcome: 'claimed' });
});

test('a call that has its result gives it on any host, and another call of the same id is refused', async () => {
  const id = await newConversation(store);
  await withSandbox(id);
  const { callId, hash } = await newCall(store, id);
  expect(await store.toolCalls.claimOn('second', callId, 'another')).toMatchObject({ outcome: 'mismatch' });
  await store.toolCalls.claimOn('first', callId, hash);
  await store.toolCalls.settle(callId, 1, { state: 'finished', content: [], isError: false }, []);
  expect(await store.toolCalls.claimOn('second', callId, hash)).toMatchObject({ outcome: 'settled' });
});
