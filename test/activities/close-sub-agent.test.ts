import { createCloseSubAgent } from '../../src/activities/close-sub-agent.ts';
import type { ActivityDependencies } from '../../src/tool-calls/dependencies.ts';
import { subAgentId } from '../../src/tool-calls/run/sub-agents.ts';
import type { Store } from '../../src/store/store.ts';
import { newCall, newConversation, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const SPENT = { tokens: 20, steps: 2, workedMs: 5, costUsd: 0 };

/** A call that has given a task, and its sub-agent; `closing`: those that were asked to close. */
async function setUp(state: 'running' | 'closed') {
  const conversationId = await newConversation(store);
  const { callId } = await newCall(store, conversationId, { tool: 'agents:run', arguments: { agent: 'worker', task: 'Work.' } });
  const child = subAgentId(callId);
  await newConversation(store, { conversationId: child, state, parent: { conversationId, callId, path: [conversationId] }, spent: SPENT });
  const closing: string[] = [];
  const subAgents = { close: async (id: string) => void closing.push(id) } as unknown as ActivityDependencies['subAgents'];
  const close = () => createCloseSubAgent({ store, subAgents })({ conversationId, callId });
  const told = async () => (await store.events.read(conversationId, 1)).map(({ type, data }) => [type, data['conversationId']]);
  return { child, closing, close, told };
}

test('a sub-agent that works is asked to close', async () => {
  const { child, closing, close, told } = await setUp('running');
  expect(await close()).toEqual({});
  expect([closing, await told()]).toEqual([[child], []]);
});

test('the end of one that has ended is in the log of its parent, once, also when it could not report it itself', async () => {
  const { child, closing, close, told } = await setUp('closed');
  expect([await close(), await close()]).toEqual([{ spent: SPENT }, { spent: SPENT }]);
  expect(closing).toEqual([]);
  expect(await told()).toEqual([
    ['agent.started', child],
    ['agent.ended', child],
  ]);
});
