import { createSandboxLifecycle } from '../../src/activities/sandbox-lifecycle.ts';
import { sandboxIdOf } from '../../src/contracts/ids.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxState } from '../../src/store/sandbox-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { createConversationSandboxes } from '../../src/tool-calls/run/sandbox-of-conversation.ts';
import { newConversation, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

async function endOf(state: SandboxState, hostId: string) {
  const conversationId = await newConversation(store);
  const sandboxId = sandboxIdOf(conversationId);
  const names = { hostId, containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state, options: {}, ...names });
  const done: string[] = [];
  const end = (what: string) => async () => (done.push(what), 'stopped' as const);
  const sandboxes = { hostId: 'here', destroy: end('destroy'), stop: end('stop'), freeze: end('freeze') } as unknown as Sandboxes;
  const parts = { store, sandboxes, agents: new Map() };
  const lifecycle = createSandboxLifecycle({ ...parts, opened: createConversationSandboxes(parts) });
  return { done, conversation: { conversationId }, lifecycle };
}

test('the end of a conversation removes what a sandbox of this host has left, also when an earlier attempt has marked it as destroyed and died', async () => {
  const { done, conversation, lifecycle } = await endOf('destroyed', 'here');
  expect(await lifecycle.destroySandbox(conversation)).toEqual({ sandboxTier: 'destroyed' });
  expect(done).toEqual(['destroy']);
});

test('a sandbox that was destroyed on another host is left to that host, and no other change is made to one that is destroyed', async () => {
  const elsewhere = await endOf('destroyed', 'there');
  expect(await elsewhere.lifecycle.destroySandbox(elsewhere.conversation)).toEqual({ sandboxTier: 'destroyed' });
  const here = await endOf('destroyed', 'here');
  for (const act of [here.lifecycle.stopSandbox, here.lifecycle.freezeSandbox]) expect(await act(here.conversation)).toEqual({ sandboxTier: 'destroyed' });
  expect([...elsewhere.done, ...here.done]).toEqual([]);
});
