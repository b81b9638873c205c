import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { RouteParts } from '../../../src/api/http/route-parts.ts';
import { chatNamed, sendToChat } from '../../../src/api/routes/chat/chats.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import type { Store } from '../../../src/store/store.ts';
import { statusOf, useTestStore } from '../../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const agent = { id: 'fixer', budget: {}, sandbox: {}, approvalTimeoutMs: 0, approvalExpiry: 'deny' } as unknown as Agent;
const caller = { keyId: 'key', actor: { kind: 'key' as const, id: 'key' }, tenantId: 'north', scopes: new Set<never>() };

test('a first message does not get into the conversation that another user has begun with the same chat id at the same moment', async () => {
  const sent: string[] = [];
  const start = async () => {
    throw new WorkflowExecutionAlreadyStartedError('it runs', 'conv', 'conversation');
  };
  const temporal = { address: 'here', client: async () => ({ workflow: { start } }) as unknown as Client, keys: { first: undefined } };
  const parts = {
    store,
    client: { store, temporal, agents: { directory: 'agents', load: async () => new Map([[agent.id, agent]]) }, taskQueue: 'queue' },
    longshore: { send: async (_id: string, text: string) => (sent.push(text), { turnId: 'turn_1' }) },
  } as unknown as RouteParts;
  const request = { caller } as Parameters<typeof sendToChat>[1];
  const chat = await chatNamed(parts, caller, 'chat-1', 'bob');
  expect(chat.row).toBeUndefined();
  // The request of the other user comes between the two.
  const status = statusOf(chat.conversationId, { tenantId: 'north', userId: 'ann' });
  await store.conversations.create({ ...status, status });
  const message = { messageId: 'm-1', text: 'A secret of Bob.', agent: 'fixer', user: 'bob' };
  await expect(sendToChat(parts, request, chat, message)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  expect([sent, await store.messages.get(chat.conversationId, 'm-1')]).toEqual([[], undefined]);
  // The same user may have several tabs.
  await sendToChat(parts, request, chat, { ...message, text: 'Ahoy.', user: 'ann' });
  expect(sent).toEqual(['Ahoy.']);
});
