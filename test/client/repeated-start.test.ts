import type { Client } from '@temporalio/client';
import { startConversation, type StartParts, type StartRequest } from '../../src/client/start-conversation.ts';
import type { Agent } from '../../src/contracts/agent.ts';
import type { PendingApproval } from '../../src/contracts/conversation.ts';
import { scheduledConversationId } from '../../src/contracts/schedule.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, newId, statusOf, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const agent = { id: 'fixer', budget: {}, sandbox: {}, approvalTimeoutMs: 0, approvalExpiry: 'deny' } as unknown as Agent;

/** Starts a conversation while Temporal takes no requests. */
async function startInVain(options: Partial<StartRequest>, code = 'INTERNAL'): Promise<void> {
  const start = async () => {
    throw new Error('14 UNAVAILABLE: no connection');
  };
  const parts: StartParts = {
    store,
    temporal: {
      address: 'here',
      client: async () => ({ workflow: { start } }) as unknown as Client,
      keys: { first: undefined } as unknown as StartParts['temporal']['keys'],
    },
    agents: { directory: 'agents', load: async () => new Map([[agent.id, agent]]) },
    taskQueue: 'queue',
  };
  await expect(startConversation(parts, { agent: 'fixer', user: 'user-1', tenant: 'default', message: 'Ahoy.', ...options })).rejects.toMatchObject({ code });
}

test('a start that is repeated while Temporal is away changes nothing of the conversation, which may wait for a person', async () => {
  const pendingApprovals = [{ callId: 'call_1', tool: 'shell:run' } as unknown as PendingApproval];
  const conversationId = await newConversation(store);
  await store.conversations.saveStatus(statusOf(conversationId, { state: 'awaiting-approval', pendingApprovals, stepsUsed: 3 }), []);
  const before = await store.conversations.get(conversationId);
  const from = { conversationId: 'conv_before', exportedAt: '2026-11-01T00:00:00.000Z' };
  for (const more of [{}, { imported: { from, complete: async () => false } }]) {
    await startInVain({ conversationId, ...more });
    expect(await store.conversations.get(conversationId)).toEqual(before);
  }
});

test('one that is not repeated leaves no conversation that is listed as open', async () => {
  const conversationId = newId('conv');
  await startInVain({ conversationId });
  expect((await store.conversations.get(conversationId))?.state).toBe('closed');
});

test('the id that a run of a schedule will have can be taken by no other start, and none is stored', async () => {
  const scheduledBy = { scheduleId: 'nightly', at: '2027-01-31T05:00:00.000Z' };
  const conversationId = scheduledConversationId(scheduledBy);
  const from = { conversationId, exportedAt: '2026-11-01T00:00:00.000Z' };
  await startInVain({ conversationId, tenant: 'another' }, 'INVALID_ARGUMENT');
  expect(await store.conversations.get(conversationId)).toBeUndefined();
  await startInVain({ conversationId, scheduledBy });
  expect(await store.conversations.get(conversationId)).toMatchObject({ status: { scheduledBy } });
  // An archive may come with the id that its conversation had.
  await startInVain({ conversationId, imported: { from, complete: async () => false } });
  await startInVain({ conversationId: 'conv_report-20270131' });
});
