import { createSandboxLifecycle } from '../../src/activities/sandbox-lifecycle.ts';
import { sandboxIdOf } from '../../src/contracts/ids.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxState } from '../../src/store/sandbox-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { createConversationSandboxes } from '../../src/tool-calls/run/sandbox-of-conversation.ts';
import { newCall, newConversation, statusOf, useTestStore } from '../store/support.ts';
import { subAgent } from '../store/sub-agents.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

/** A conversation whose command runs, with a sub-agent that shares its sandbox. */
async function setUp(found: SandboxState | undefined) {
  const owner = await newConversation(store, { state: 'running' });
  const guest = await subAgent(store, [owner], owner);
  const call = await newCall(store, owner);
  await store.toolCalls.claim(call.callId, call.hash);
  const id = sandboxIdOf(owner);
  const names = { hostId: 'host', containerName: `c-${id}`, volumeName: `v-${id}` };
  if (found) await store.sandboxes.ensure({ sandboxId: id, conversationId: owner, tenantId: 'default', state: found, options: {}, ...names });
  const done: string[] = [];
  const sandboxes = {
    freeze: async (_id: string, { mode }: { mode: string }) => (done.push(`freeze ${mode}`), 'frozen'),
    wake: async () => (done.push('wake'), 'running'),
  } as unknown as Sandboxes;
  const parts = { store, sandboxes, agents: new Map() };
  return { owner, guest: guest.id, done, lifecycle: createSandboxLifecycle({ ...parts, opened: createConversationSandboxes(parts) }) };
}

test.each<[SandboxState | undefined, string]>([
  ['running', 'running'],
  ['frozen', 'frozen'],
  [undefined, 'none'],
])('the pause of a sub-agent leaves a shared sandbox that is %s, and learns of its tier, as the end of the pause does', async (found, sandboxTier) => {
  const { guest, done, lifecycle } = await setUp(found);
  expect(await lifecycle.freezeSandbox({ conversationId: guest, mode: 'pause' })).toEqual({ sandboxTier });
  expect(await lifecycle.wakeSandbox({ conversationId: guest })).toEqual({ sandboxTier });
  expect(done).toEqual([]);
});

test('a sandbox that a sub-agent has woken at the moment of a pause is frozen again when that is idle, though a call of its conversation waits in it', async () => {
  const { owner, guest, done, lifecycle } = await setUp('running');
  expect(await lifecycle.freezeSandbox({ conversationId: guest, mode: 'idle' })).toEqual({ sandboxTier: 'running' });
  await store.conversations.saveStatus(statusOf(owner, { state: 'paused', paused: { by: 'operator' } }), []);
  expect(await lifecycle.freezeSandbox({ conversationId: guest, mode: 'idle' })).toEqual({ sandboxTier: 'frozen' });
  expect(done).toEqual(['freeze idle']);
});
