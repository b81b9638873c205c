import { WorkflowNotFoundError } from '@temporalio/client';
import type { Agent } from '../../src/contracts/agent.ts';
import { callOfStep } from '../../src/contracts/call-ids.ts';
import { failure } from '../../src/contracts/errors.ts';
import type { SubAgentEnd } from '../../src/contracts/sub-agent.ts';
import { createConversationReaper, type ConversationReaperParts } from '../../src/worker/reap-conversations.ts';
import type { Store } from '../../src/store/store.ts';
import { newCall, newConversation, newId, openTestStore, silent } from '../store/support.ts';

let stack: Awaited<ReturnType<typeof openTestStore>>;
beforeEach(async () => {
  stack = await openTestStore();
});
afterEach(async () => stack[Symbol.asyncDispose]());

/** Workflows by conversation; those not named do not exist. */
function setUp(statuses: Record<string, string>, more: { untouchedMs?: number; destroy?: () => Promise<void> } = {}) {
  const { store } = stack;
  const asked: string[] = [];
  const done: string[] = [];
  const aged: Store['conversations']['listOpen'] = async (page) => {
    const rows = await store.conversations.listOpen(page);
    return rows.map((row) => ({ ...row, untouchedMs: more.untouchedMs ?? row.untouchedMs }));
  };
  const parts = {
    store: { ...store, conversations: { ...store.conversations, listOpen: aged } },
    sandboxes: {
      async destroy(sandboxId: string) {
        await more.destroy?.();
        done.push(`destroyed ${sandboxId}`);
      },
      async stop(sandboxId: string) {
        done.push(`stopped ${sandboxId}`);
      },
    },
    agents: new Map([['keeper', { id: 'keeper', sandbox: { onClose: 'keep' } } as Agent]]),
    workflows: {
      getHandle: (id: string) => ({
        async describe() {
          asked.push(id);
          if (statuses[id] === 'ERROR') throw new Error('Temporal is away');
          if (statuses[id] === undefined) throw new WorkflowNotFoundError('none', id, undefined);
          return { status: { name: statuses[id] } };
        },
      }),
    },
    subAgents: {
      close: async (id: string) => void done.push(`asked ${id} to close`),
      tellParent: async (id: string, end: SubAgentEnd) => void done.push(`told ${id} ${JSON.stringify(end)}`),
      tellOfPlace: async (id: string, callId: string) => void done.push(`told ${id} of a place for ${callId}`),
    },
    log: silent,
  } as unknown as ConversationReaperParts;
  const reap = createConversationReaper(parts);
  return { asked, done, reap: () => reap(new AbortController().signal) };
}

async function withSandbox(overrides: Parameters<typeof newConversation>[1] = {}): Promise<{ id: string; sandboxId: string }> {
  const id = await newConversation(stack.store, overrides);
  const sandboxId = newId('sbx');
  const names = { containerName: sandboxId, volumeName: sandboxId };
  await stack.store.sandboxes.ensure({ sandboxId, conversationId: id, tenantId: 'default', state: 'running', hostId: 'host-1', ...names, options: {} });
  return { id, sandboxId };
}

const stateOf = async (id: string) => (await stack.store.conversations.get(id))?.state;

test.each(['TERMINATED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'COMPLETED'])(
  'a conversation whose workflow is %s is closed once, and its sandbox destroyed',
  async (status) => {
    const { id, sandboxId } = await withSandbox({ state: 'running', turnId: 'turn_1', queued: 2, paused: { by: 'operator' } });
    const { reap, done } = setUp({ [id]: status });
    expect(await reap()).toEqual([id]);
    expect(done).toEqual([`destroyed ${sandboxId}`]);
    const closed = (await stack.store.conversations.get(id))!;
    expect(closed).toMatchObject({ state: 'closed', status: { state: 'closed', queued: 0, pendingApprovals: [] } });
    expect(closed.status).not.toHaveProperty('turnId');
    expect(closed.status).not.toHaveProperty('paused');
    expect(await reap()).toEqual([]);
    expect(await stack.store.events.read(id, 1)).toMatchObject([{ type: 'conversation.closed', data: { by: 'reaper', workflow: status } }]);
  },
);

test.each(['RUNNING', 'PAUSED', 'CONTINUED_AS_NEW'])('a conversation whose workflow is %s is left alone', async (status) => {
  const { id } = await withSandbox();
  const { reap, done } = setUp({ [id]: status }, { untouchedMs: 1e9 });
  expect(await reap()).toEqual([]);
  expect([await stateOf(id), ...done]).toEqual(['idle']);
});

test('a conversation without a workflow is closed, but not while it may just be starting', async () => {
  const id = await newConversation(stack.store);
  expect(await setUp({}).reap()).toEqual([]);
  expect(await setUp({}, { untouchedMs: 61_000 }).reap()).toEqual([id]);
});

test('the sandbox of an agent that keeps it is stopped', async () => {
  const { id, sandboxId } = await withSandbox({ agentId: 'keeper' });
  const { reap, done } = setUp({ [id]: 'TERMINATED' });
  await reap();
  expect(done).toEqual([`stopped ${sandboxId}`]);
});

test('a conversation whose sandbox cannot be released now stays open for the next round', async () => {
  const { id, sandboxId } = await withSandbox();
  const destroy = async () => Promise.reject(failure('SANDBOX_UNREACHABLE', { sandboxId, problem: 'it is on another host' }));
  expect(await setUp({ [id]: 'TERMINATED' }, { destroy }).reap()).toEqual([]);
  expect(await stateOf(id)).toBe('idle');
  expect(await setUp({ [id]: 'TERMINATED' }).reap()).toEqual([id]);
});

test('while Temporal is away nothing counts as gone', async () => {
  const id = await newConversation(stack.store);
  await expect(setUp({ [id]: 'ERROR' }, { untouchedMs: 1e9 }).reap()).rejects.toThrow('Temporal is away');
  expect(await stateOf(id)).toBe('idle');
});

test('closed conversations are not looked at, and open ones by pages', async () => {
  const ids = (await Promise.all(Array.from({ length: 3 }, () => newConversation(stack.store)))).toSorted();
  await newConversation(stack.store, { state: 'closed' });
  const page = async (afterId: string) => (await stack.store.conversations.listOpen({ afterId, limit: 2 })).map((row) => row.conversationId);
  expect(await page('')).toEqual(ids.slice(0, 2));
  expect(await page(ids[1]!)).toEqual(ids.slice(2));
  const { reap, asked } = setUp({});
  await reap();
  expect(asked.toSorted()).toEqual(ids);
});

test('a sub-agent is asked to close when its parent has ended or was removed, and not before', async () => {
  const open = await newConversation(stack.store);
  const closed = await newConversation(stack.store, { state: 'closed' });
  const childOf = (conversationId: string) => newConversation(stack.store, { parent: { conversationId, callId: 'call_1', path: [conversationId] } });
  const [kept, orphan, lost] = [await childOf(open), await childOf(closed), await childOf('conv_removed')];
  const { reap, done } = setUp({ [open]: 'RUNNING', [kept]: 'RUNNING', [orphan]: 'RUNNING', [lost]: 'RUNNING' });
  expect(await reap()).toEqual([]);
  expect(done.toSorted()).toEqual([`asked ${orphan} to close`, `asked ${lost} to close`].toSorted());
});

test('the parent of a sub-agent that was terminated is told what that has spent, and its log has the start and the end', async () => {
  const { store } = stack;
  const parent = await newConversation(store);
  const { callId } = await newCall(store, parent, { tool: 'agents:run', arguments: { agent: 'worker', task: 'Work.' } });
  const spent = { tokens: 300, workedMs: 1000, costUsd: 0 };
  const child = await newConversation(store, { parent: { conversationId: parent, callId, path: [parent] }, spent });
  const { reap, done } = setUp({ [parent]: 'RUNNING', [child]: 'TERMINATED' });
  expect(await reap()).toEqual([child]);
  expect(done).toEqual([`told ${parent} {"callId":"${callId}","spent":{"tokens":300,"workedMs":1000,"costUsd":0}}`]);
  const place = { turnId: 'turn_1', stepId: 'step_1' };
  expect(await store.events.read(parent, 1)).toMatchObject([
    { ...place, type: 'agent.started', data: { callId, conversationId: child, agent: 'worker' } },
    { ...place, type: 'agent.ended', data: { callId, conversationId: child, outcome: 'cancelled', tokens: 300, steps: 0 } },
  ]);
});

test('nothing follows the end of a conversation in its log: it is closed, and then its sub-agent ends', async () => {
  const { store } = stack;
  const parent = await newConversation(store, { state: 'closed' });
  const { callId } = await newCall(store, parent, { tool: 'agents:run', arguments: { agent: 'worker', task: 'Work.' } });
  const child = await newConversation(store, { parent: { conversationId: parent, callId, path: [parent] } });
  expect(await setUp({ [child]: 'TERMINATED' }).reap()).toEqual([child]);
  expect(await store.events.read(parent, 1)).toEqual([]);
});

test('the calls of an answer that nothing has proposed yet get their results with the close', async () => {
  const id = await newConversation(stack.store, { state: 'running', turnId: 'turn_1' });
  const stepId = newId('step');
  const callId = callOfStep(stepId, 0);
  const parts = [{ type: 'tool-call' as const, callId, tool: 'shell:run', arguments: { command: 'ls' } }];
  const usage = { inputTokens: 1, outputTokens: 1 };
  await stack.store.transcript.addAnswer({ conversationId: id, turnId: 'turn_1', stepId }, { role: 'assistant', parts, usage }, 'model');
  expect(await setUp({ [id]: 'TERMINATED' }).reap()).toEqual([id]);
  const text = 'The workflow of the conversation was ended from outside before this call; it was not run.';
  expect((await stack.store.transcript.last(id))?.entry).toEqual({ role: 'tool', callId, tool: 'shell:run', content: [{ type: 'text', text }], isError: true });
  const told = (await stack.store.events.read(id, 1)).map(({ type }) => type);
  expect(told).toEqual(['step.finished', 'tool.requested', 'tool.finished', 'conversation.closed']);
});
