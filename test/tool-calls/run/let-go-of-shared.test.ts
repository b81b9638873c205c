import type { Agent } from '../../../src/contracts/agent.ts';
import type { ConversationState } from '../../../src/contracts/conversation.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { sandboxIdOf } from '../../../src/contracts/ids.ts';
import { createSandboxLifecycle } from '../../../src/activities/sandbox-lifecycle.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxState } from '../../../src/store/sandbox-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { createConversationSandboxes } from '../../../src/tool-calls/run/sandbox-of-conversation.ts';
import { newConversation, useTestStore } from '../../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

/** The end of a sub-agent that shares the sandbox of a conversation; returns what it does to that sandbox. */
async function endOfGuest(owns: ConversationState, found: SandboxState | undefined, onClose: 'destroy' | 'keep', problem?: unknown): Promise<string[]> {
  const owner = await newConversation(store, { state: owns });
  const sandbox = { use: 'shared' as const, conversationId: owner };
  const conversationId = await newConversation(store, { parent: { conversationId: owner, callId: 'call_1', path: [owner], sandbox } });
  const id = sandboxIdOf(owner);
  const names = { hostId: 'host', containerName: `c-${id}`, volumeName: `v-${id}` };
  if (found) await store.sandboxes.ensure({ sandboxId: id, conversationId: owner, tenantId: 'default', state: found, options: {}, ...names });
  const done: string[] = [];
  const end = (name: string) => async (sandboxId: string) => {
    done.push(`${name} ${sandboxId === id}`);
    if (problem !== undefined) throw problem;
    return 'stopped' as const;
  };
  const sandboxes = { destroy: end('destroy'), stop: end('stop') } as unknown as Sandboxes;
  const agents = new Map([['fixer', { sandbox: { onClose } } as unknown as Agent]]);
  const parts = { store, sandboxes, agents };
  const lifecycle = createSandboxLifecycle({ ...parts, opened: createConversationSandboxes(parts) });
  // What its own agent says of a sandbox of its own does not matter.
  for (const act of [lifecycle.destroySandbox, lifecycle.stopSandbox]) expect(await act({ conversationId })).toEqual({ sandboxTier: 'none' });
  return [...new Set(done)];
}

test.each<[ConversationState, SandboxState | undefined, 'destroy' | 'keep', string[]]>([
  ['running', 'running', 'destroy', []],
  ['closing', 'running', 'destroy', []],
  ['closed', undefined, 'destroy', []],
  ['closed', 'destroyed', 'destroy', []],
  ['closed', 'running', 'destroy', ['destroy true']],
  ['closed', 'stopped', 'destroy', ['destroy true']],
  ['closed', 'running', 'keep', ['stop true']],
  ['closed', 'stopped', 'keep', []],
  ['closed', 'archived', 'keep', []],
])('a sub-agent that ends when its conversation is %s and the sandbox that it shared is %s (%s): %j', async (owns, found, onClose, expected) => {
  expect(await endOfGuest(owns, found, onClose)).toEqual(expected);
});

test('what is gone needs no end, and what cannot be ended now is tried again', async () => {
  const gone = failure('SANDBOX_LOST', { sandboxId: 'sbx', problem: 'gone' });
  expect(await endOfGuest('closed', 'running', 'destroy', gone)).toEqual(['destroy true']);
  await expect(endOfGuest('closed', 'running', 'destroy', new Error('no engine'))).rejects.toThrow('no engine');
});
