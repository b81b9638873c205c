import type { ConversationState } from '../../../src/contracts/conversation.ts';
import { sandboxIdOf } from '../../../src/contracts/ids.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { checkRest } from '../../../src/sandbox/visits/held.ts';
import { restAgain } from '../../../src/sandbox/visits/rest-again.ts';
import type { SandboxRow, SandboxState } from '../../../src/store/sandbox-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, statusOf, useTestStore } from '../../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const parentOf = (conversationId: string, sandboxOf: string) => ({
  parent: { conversationId, callId: 'call_1', path: [conversationId], sandbox: { use: 'shared' as const, conversationId: sandboxOf } },
});

/** A conversation with a sandbox that runs, and a sub-agent of a sub-agent that shares it. */
async function shared(owns: ConversationState, works: ConversationState): Promise<{ row: SandboxRow; owner: string; guest: string }> {
  const owner = await newConversation(store, { state: owns });
  const child = await newConversation(store, parentOf(owner, owner));
  const guest = await newConversation(store, { state: works, ...parentOf(child, owner) });
  const id = sandboxIdOf(owner);
  const names = { hostId: 'host', containerName: `c-${id}`, volumeName: `v-${id}` };
  const made = await store.sandboxes.ensure({ sandboxId: id, conversationId: owner, tenantId: 'default', state: 'creating', options: {}, ...names });
  const row = await store.sandboxes.change(id, made.generation, { state: 'running' });
  return { row: row!, owner, guest };
}

test('a sandbox is not put to rest while a sub-agent works in it, though its conversation is idle', async () => {
  const { row, owner, guest } = await shared('idle', 'running');
  await expect(checkRest({ store }, row, false)).rejects.toMatchObject({
    code: 'SANDBOX_HELD',
    message: `Sandbox "${row.sandboxId}" belongs to conversation "${owner}", whose sub-agent "${guest}" is using it. Pause it (longshore pause ${owner} --mode now), or add --force`,
  });
  await checkRest({ store }, row, true);
  await store.conversations.saveStatus(statusOf(guest, { state: 'paused', ...parentOf(owner, owner) }), []);
  await checkRest({ store }, row, false);
});

test.each<[SandboxState, ConversationState, string[]]>([
  ['hibernated', 'running', []],
  ['stopped', 'running', []],
  ['archived', 'running', []],
  ['frozen', 'running', []],
  ['hibernated', 'closed', ['hibernate']],
  ['frozen', 'paused', ['freeze']],
])('after a visit, a sandbox that was %s when it came rests again if the sub-agent that shares it is %s: %j', async (found, works, expected) => {
  const { row } = await shared('idle', works);
  const done: string[] = [];
  const rest = (name: string) => async () => void done.push(name);
  const sandboxes = { freeze: rest('freeze'), hibernate: rest('hibernate'), stop: rest('stop'), archive: rest('archive') } as unknown as Sandboxes;
  await restAgain({ store, sandboxes }, { ...row, state: found }, { execs: async () => [] } as unknown as SandboxHandle);
  expect(done).toEqual(expected);
});
