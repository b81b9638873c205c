import { createSandboxLifecycle } from '../../src/activities/sandbox-lifecycle.ts';
import { failure } from '../../src/contracts/errors.ts';
import { sandboxIdOf } from '../../src/contracts/ids.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxState } from '../../src/store/sandbox-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { createConversationSandboxes } from '../../src/tool-calls/run/sandbox-of-conversation.ts';
import { newConversation, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

async function endOf(state: SandboxState, hostId: string, problem?: Error) {
  const conversationId = await newConversation(store);
  const sandboxId = sandboxIdOf(conversationId);
  const names = { hostId, containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state, options: {}, ...names });
  const done: string[] = [];
  const end = (what: string) => async () => {
    done.push(what);
    if (problem) throw problem;
    return 'stopped' as const;
  };
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

test('a volume that is still used is waited for once, and then left to the reaper', async () => {
  const inUse = failure('SANDBOX_CONFLICT', { sandboxId: 'sbx' });
  const first = await endOf('running', 'here', inUse);
  await expect(first.lifecycle.destroySandbox(first.conversation)).rejects.toThrow(inUse);
  const again = await endOf('destroyed', 'here', inUse);
  expect(await again.lifecycle.destroySandbox(again.conversation)).toEqual({ sandboxTier: 'destroyed' });
  const refused = await endOf('destroyed', 'here', new Error('no engine'));
  await expect(refused.lifecycle.destroySandbox(refused.conversation)).rejects.toThrow('no engine');
});

test('a sandbox that was destroyed on another host is left to that host, and no other change is made to one that is destroyed', async () => {
  const elsewhere = await endOf('destroyed', 'there');
  expect(await elsewhere.lifecycle.destroySandbox(elsewhere.conversation)).toEqual({ sandboxTier: 'destroyed' });
  const here = await endOf('destroyed', 'here');
  for (const act of [here.lifecycle.stopSandbox, here.lifecycle.freezeSandbox]) expect(await act(here.conversation)).toEqual({ sandboxTier: 'destroyed' });
  expect([...elsewhere.done, ...here.done]).toEqual([]);
});
