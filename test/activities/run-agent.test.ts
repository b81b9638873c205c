import type { Agent } from '../../src/contracts/agent.ts';
import { failure } from '../../src/contracts/errors.ts';
import type { Parent, Share } from '../../src/contracts/sub-agent.ts';
import type { ParentSandbox, SandboxUse } from '../../src/contracts/sub-agents/sandbox-use.ts';
import type { ConversationRow } from '../../src/store/store.ts';
import { runAgentTool } from '../../src/tool-calls/run/agent-tools.ts';
import type { AgentRun } from '../../src/tool-calls/run/run-agent.ts';
import { subAgentId } from '../../src/tool-calls/run/sub-agents.ts';

const CHILD = subAgentId('call_1');

interface Setting {
  share?: Share;
  /** Of the conversation. */
  path?: string[];
  rows?: Record<string, ConversationRow>;
  start?: () => Promise<void>;
  /** Whether the tree has room. */
  place?: boolean;
  /** What the file of the agent says, and where the conversation itself works. */
  use?: SandboxUse;
  sandbox?: ParentSandbox;
  /** What the other agent has said, in pieces, and what the end of its last turn says of its answer. */
  said?: string[];
  lastTurn?: object;
}

/** A call of an agent tool, in a conversation `conv_parent`, with rows of other conversations. */
function callOf(
  tool: string,
  input: object,
  { share = { tokens: 1000 }, path = [], rows = {}, start = async () => {}, place = true, use, sandbox, said = [], lastTurn = {} }: Setting = {},
) {
  const done: unknown[] = [];
  const asked: object[] = [];
  const placed: string[] = [];
  const own = { conversationId: 'conv_parent', state: 'running', status: { ...((sandbox ?? path.length > 0) && { parent: { path, sandbox } }) } };
  const given: unknown[] = [];
  const run = {
    args: {
      conversationId: 'conv_parent',
      agentId: 'boss',
      userId: 'ann',
      tenantId: 'default',
      turnId: 'turn_1',
      stepId: 'step_1',
      callId: 'call_1',
      tool,
      share,
    },
    claim: { attempt: 1, call: { arguments: input } },
    opened: {
      copy: async (from: { conversationId: string }, to: { conversationId: string }) => void done.push(`copied ${from.conversationId} ${to.conversationId}`),
      rowOf: async () => undefined,
    },
    store: {
      conversations: { get: async (id: string) => ({ conv_parent: own, ...rows })[id] },
      events: {
        append: async (_id: string, events: { type: string }[]) => void done.push(...events.map(({ type }) => type)),
        lastTurn: async () => lastTurn,
      },
      transcript: { read: async () => [{ entry: { role: 'assistant', parts: said.map((text) => ({ type: 'text', text })) } }] },
      treePlaces: {
        async ask(asking: object) {
          asked.push(asking);
          return { has: place, others: [{ callId: 'call_9', askerId: 'conv_9' }] };
        },
        told: async (ids: string[]) => void placed.push(`told ${ids.join()}`),
      },
    },
    agents: new Map([['boss', { agents: { worker: { agent: 'worker', description: '', budget: {}, ...(use && { sandbox: use }) } } } as unknown as Agent]]),
    subAgents: {
      async start(options: { conversationId: string; parent: Parent }) {
        await start();
        given.push(options.parent.sandbox);
        done.push(`started ${options.conversationId}`);
      },
      send: async (id: string, _messageId: string, text: string) => void done.push(`told ${id} ${text}`),
      close: async (id: string) => void done.push(`closed ${id}`),
      tellOfPlace: async (id: string, callId: string) => void placed.push(`${id} ${callId}`),
    },
  } as unknown as AgentRun;
  return { done, asked, placed, given, outcome: () => runAgentTool(run) };
}

const task = { agent: 'worker', task: 'Work.' };
const childOf = (conversationId: string, state = 'running') =>
  ({ conversationId: 'conv_child', state, status: { parent: { conversationId, callId: 'call_0', path: [conversationId] } } }) as unknown as ConversationRow;

test('a call starts its sub-agent, whose id is made of the id of the call, and waits', async () => {
  const { done, outcome } = callOf('agents:run', task);
  expect(await outcome()).toEqual({ outcome: 'suspended', calls: [], waitsFor: [CHILD] });
  expect(done).toEqual([`started ${CHILD}`, 'agent.started']);
});

test('a start that may have had an effect is tried again, and one that cannot work is told to the model', async () => {
  const away = failure('TEMPORAL_UNAVAILABLE', { address: 'a:1', problem: 'away' });
  expect(await callOf('agents:run', task, { start: () => Promise.reject(away) }).outcome()).toEqual({ outcome: 'later', error: away });
  const missing = failure('AGENT_NOT_FOUND', { agent: 'worker', known: 'none', directory: 'agents' });
  expect(await callOf('agents:start', task, { start: () => Promise.reject(missing) }).outcome()).toEqual({ outcome: 'failed', text: missing.message });
});

test('while the tree is full, a call waits for a place, and others that got one are told', async () => {
  const { done, asked, placed, outcome } = callOf('agents:run', task, { path: ['conv_top'], place: false });
  expect(await outcome()).toEqual({ outcome: 'suspended', calls: [], waitsForPlace: true });
  expect(asked).toEqual([{ callId: 'call_1', rootId: 'conv_top', askerId: 'conv_parent', subAgentId: CHILD, depth: 2 }]);
  expect([done, placed]).toEqual([[], ['conv_9 call_9', 'told call_9']]);
});

test('a sub-agent that is known is started again, since its workflow may be missing', async () => {
  const { done, outcome } = callOf('agents:run', task, { rows: { [CHILD]: childOf('conv_parent') } });
  await outcome();
  expect(done).toContain(`started ${CHILD}`);
});

test.each([
  ['agents:run', ['agent.started', 'agent.ended']],
  ['agents:start', ['agent.started']],
])('a %s whose worker died behind the start logs the start, also when its sub-agent has ended meanwhile', async (tool, logged) => {
  const { done, outcome } = callOf(tool, task, { rows: { [CHILD]: childOf('conv_parent', 'closed') } });
  await outcome();
  expect(done).toEqual(logged);
});

test('an answer that came in pieces is put together as it is for everybody else', async () => {
  const ended = childOf('conv_parent', 'closed');
  Object.assign(ended.status, { lastTurn: { outcome: 'finished' } });
  const said = ['{"tide": "hi', 'gh"}'];
  const rows = { [CHILD]: ended };
  expect(await callOf('agents:run', task, { rows, said }).outcome()).toEqual({ outcome: 'returned', result: '{"tide": "high"}' });
  const long = { rows, said, lastTurn: { outputCharacters: 20_000 } };
  expect(await callOf('agents:run', task, long).outcome()).toEqual({ outcome: 'returned', result: { tide: 'high' } });
});

test.each([
  ['an empty share', { share: { tokens: 0 } }, "Nothing is left of this conversation's budget of tokens for another agent. Go on without it."],
  ['the deepest level', { path: ['a', 'b', 'c'] }, 'Agents may give tasks to agents 3 levels deep, not deeper. Do this task yourself.'],
])('%s starts nothing', async (_what, more, text) => {
  const { done, outcome } = callOf('agents:run', task, more);
  expect(await outcome()).toEqual({ outcome: 'failed', text });
  expect(done).toEqual([]);
});

test('a name that the file of the agent does not have starts nothing, whoever wrote it', async () => {
  for (const agent of ['boss', 'constructor', '__proto__']) {
    const { done, outcome } = callOf('agents:run', { ...task, agent });
    expect(await outcome()).toEqual({ outcome: 'failed', text: `There is no agent "${agent}" to give tasks to.` });
    expect(done).toEqual([]);
  }
});

test.each([
  ['agents:wait', { agents: ['conv_child'] }],
  ['agents:message', { agent: 'conv_child', message: 'Hi' }],
  ['agents:stop', { agent: 'conv_child' }],
])('%s reaches sub-agents of its own conversation only', async (tool, input) => {
  for (const rows of [{ conv_child: childOf('conv_other') }, {}]) {
    const { done, outcome } = callOf(tool, input, { rows });
    const text = 'This conversation has started no agent "conv_child". Give the id that agents:start has answered.';
    expect(await outcome()).toEqual({ outcome: 'failed', text });
    expect(done).toEqual([]);
  }
});

test('a wait is for those that have not ended, and then for nobody', async () => {
  const open = callOf('agents:wait', { agents: ['conv_child', 'conv_child'] }, { rows: { conv_child: childOf('conv_parent') } });
  expect(await open.outcome()).toEqual({ outcome: 'suspended', calls: [], waitsFor: ['conv_child'] });
  const ended = callOf('agents:wait', { agents: ['conv_child'] }, { rows: { conv_child: childOf('conv_parent', 'closed') } });
  expect(await ended.outcome()).toEqual({ outcome: 'returned', result: [{ agent: 'conv_child', outcome: 'cancelled' }] });
});

const OF_PARENT = { conversationId: 'conv_parent' };
const OF_ROOT = { conversationId: 'conv_root' };
test.each<[SandboxUse | undefined, ParentSandbox | undefined, ParentSandbox | undefined]>([
  [undefined, undefined, undefined],
  ['own', { use: 'shared', ...OF_ROOT }, undefined],
  ['none', undefined, { use: 'none' }],
  ['shared', undefined, { use: 'shared', ...OF_PARENT }],
  ['shared', { use: 'fork' }, { use: 'shared', ...OF_PARENT }],
  ['shared', { use: 'shared', ...OF_ROOT }, { use: 'shared', ...OF_ROOT }],
  ['shared', { use: 'shared-read-only', ...OF_ROOT }, { use: 'shared-read-only', ...OF_ROOT }],
  ['shared-read-only', { use: 'shared', ...OF_ROOT }, { use: 'shared-read-only', ...OF_ROOT }],
  ['shared', { use: 'none' }, { use: 'none' }],
  ['fork', { use: 'shared-read-only', ...OF_ROOT }, { use: 'fork' }],
])('a task with sandbox %s, given from %j, is worked on in %j', async (use, sandbox, expected) => {
  const { given, outcome } = callOf('agents:run', task, { ...(use && { use }), ...(sandbox && { sandbox }) });
  await outcome();
  expect(given).toEqual([expected]);
});

test('a copy is made before its sub-agent is started, and not for one that is known', async () => {
  const { done, outcome } = callOf('agents:run', task, { use: 'fork' });
  await outcome();
  expect(done).toEqual([`copied conv_parent ${CHILD}`, `started ${CHILD}`, 'agent.started']);
  const again = callOf('agents:run', task, { use: 'fork', rows: { [CHILD]: childOf('conv_parent') } });
  await again.outcome();
  expect(again.done).toEqual([`started ${CHILD}`, 'agent.started']);
});
