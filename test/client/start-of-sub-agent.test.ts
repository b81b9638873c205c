import type { Client } from '@temporalio/client';
import { startConversation, type StartParts } from '../../src/client/start-conversation.ts';
import type { Agent } from '../../src/contracts/agent.ts';
import type { ConversationInput } from '../../src/contracts/conversation-run.ts';
import type { ParentSandbox } from '../../src/contracts/sub-agents/sandbox-use.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const agentOf = (id: string, freezeAfterMs: number) =>
  ({ id, budget: {}, sandbox: { freezeAfterMs }, approvalTimeoutMs: 0, approvalExpiry: 'deny' }) as unknown as Agent;

/** When a sub-agent freezes its sandbox; the file of its agent says never. */
async function freezeAfter(use: ParentSandbox | undefined, owner: string): Promise<number | undefined> {
  const inputs: ConversationInput[] = [];
  const client = { workflow: { start: async (_type: string, { args }: { args: [ConversationInput] }) => void inputs.push(args[0]) } } as unknown as Client;
  const agents = new Map([agentOf('boss', 7_000), agentOf('worker', 0)].map((agent) => [agent.id, agent]));
  const parts: StartParts = {
    store,
    temporal: { address: 'here', client: async () => client, keys: { first: undefined } as unknown as StartParts['temporal']['keys'] },
    agents: { directory: 'agents', load: async () => agents },
    taskQueue: 'queue',
  };
  const parent = { conversationId: owner, callId: 'call_1', path: [owner], ...(use && { sandbox: use }) };
  await startConversation(parts, { agent: 'worker', user: 'user-1', tenant: 'default', parent, closeWhenDone: true });
  return inputs[0]?.limits.freezeAfterMs;
}

test('a sub-agent that shares a sandbox freezes it when the agent says to which it belongs, and its own when its own agent says', async () => {
  const conversationId = await newConversation(store, { agentId: 'boss' });
  expect(await freezeAfter({ use: 'shared', conversationId }, conversationId)).toBe(7_000);
  expect(await freezeAfter({ use: 'shared-read-only', conversationId }, conversationId)).toBe(7_000);
  for (const use of [undefined, { use: 'fork' }, { use: 'none' }] as const) expect(await freezeAfter(use, conversationId)).toBe(0);
});
