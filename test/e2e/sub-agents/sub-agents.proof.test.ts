import type { Chat, Longshore } from '../../../src/client.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';

/** Agents that give tasks to other agents, each of which is a conversation of its own. */
let installation: Installation;
let longshore: Longshore;
const usage = { inputTokens: 80, outputTokens: 20 };
const worker = { agent: 'worker', description: 'Works.', budget: { tokens: 20_000 } };
const CODE = `
started = tools.agents.start(agent="waiting", task="Ask.")
told = tools.agents.message(agent=started["agent"], message="Hurry.")
stopped = tools.agents.stop(agent=started["agent"])
[ended] = tools.agents.wait(agents=[started["agent"]])
print(told, stopped, ended["outcome"], sep=" | ")
try:
    tools.agents.stop(agent="conv_other")
except Exception as error:
    print(error)
`;
beforeAll(async () => {
  installation = await installAgents({
    worker: { steps: [{ say: 'It is 42.', usage }] },
    shell: {
      steps: [
        { call: 'shell:run', with: { command: 'echo looked' }, usage },
        { say: 'I have looked.', usage },
      ],
    },
    waiting: {
      approval: [{ tool: 'shell:run', decide: 'ask' }],
      steps: [
        { call: 'shell:run', with: { command: 'true' }, usage },
        { say: 'Done.', usage },
      ],
    },
    spender: {
      steps: Array.from({ length: 30 }, () => ({ call: 'shell:run', with: { command: 'true' }, usage: { inputTokens: 19_000, outputTokens: 1000 } })),
    },
    parent: {
      agents: { worker },
      steps: [
        { call: 'agents:run', with: { agent: 'worker', task: 'Compute.' }, expect: {}, usage },
        { say: 'The worker says 42.', usage },
      ],
    },
    several: {
      agents: { worker, shell: { agent: 'shell', description: 'Looks.' } },
      steps: [
        {
          calls: [
            { call: 'agents:run', with: { agent: 'worker', task: 'One.' } },
            { call: 'agents:run', with: { agent: 'shell', task: 'Two.' } },
            { call: 'agents:run', with: { agent: 'nobody', task: 'Three.' } },
          ],
          usage,
        },
        { say: 'All have answered.', usage },
      ],
    },
    patient: {
      agents: { waiting: { agent: 'waiting', description: 'Waits for a person.' } },
      steps: [
        { call: 'agents:run', with: { agent: 'waiting', task: 'Ask.' }, usage },
        { say: 'It was allowed.', usage },
      ],
    },
    coder: {
      agents: { waiting: { agent: 'waiting', description: 'Waits for a person.' } },
      tools: ['code:*'],
      steps: [
        { call: 'code:run', with: { language: 'python', code: CODE }, usage },
        { say: 'The code has ended.', usage },
      ],
    },
    manager: {
      agents: { worker, waiting: { agent: 'waiting', description: 'Waits for a person.' } },
      steps: [
        { call: 'agents:start', with: { agent: 'worker', task: 'Work.' }, usage },
        { say: 'It works.', usage },
        { say: 'I was told.', usage },
      ],
    },
    walker: {
      steps: Array.from({ length: 9 }, () => ({ call: 'tools:search', with: { query: 'files' }, usage })),
    },
    guide: {
      agents: { walker: { agent: 'walker', description: 'Walks.', budget: { steps: 3 } } },
      steps: [
        { call: 'agents:run', with: { agent: 'walker', task: 'Walk.' }, usage },
        { say: 'It has walked.', usage },
      ],
    },
    poor: {
      agents: { spender: { agent: 'spender', description: 'Spends.', budget: { tokens: 50_000 } } },
      steps: [
        { call: 'agents:run', with: { agent: 'spender', task: 'Spend.' }, usage },
        { say: 'It has spent it all.', usage },
      ],
    },
  });
  await installation.startWorker().ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

/** The results of the calls of a conversation, as the model reads them. */
async function resultsOf(conversationId: string): Promise<string[]> {
  const entries = await longshore.transcript(conversationId);
  return entries.flatMap(({ entry }) => (entry.role === 'tool' ? entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : []));
}

/** The conversation of the first sub-agent. */
async function startedIn(chat: Chat): Promise<string> {
  const event = await untilEvent(chat, ({ type }) => type === 'agent.started');
  if (event.type !== 'agent.started') throw new Error('another event');
  return event.data.conversationId;
}

async function subAgentsOf(conversationId: string) {
  const rows = await longshore.list();
  return rows.filter(({ status }) => status.parent?.conversationId === conversationId);
}

test('a task is a conversation of its own, whose answer is the result of the call', async () => {
  await using chat = await longshore.start({ agent: 'parent', user: 'ann', message: 'What is it?' });
  expect(await chat.reply()).toBe('The worker says 42.');
  expect(await resultsOf(chat.id)).toEqual(['It is 42.']);
  const [child, ...others] = await subAgentsOf(chat.id);
  expect(others).toEqual([]);
  expect(child).toMatchObject({
    agentId: 'worker',
    userId: 'ann',
    state: 'closed',
    status: { parent: { conversationId: chat.id, callId: expect.stringMatching(/^call_/), path: [chat.id] }, tokensUsed: 100 },
  });
  expect((await longshore.transcript(child!.conversationId)).map(({ entry }) => entry.role)).toEqual(['user', 'assistant']);
  await chat.close();
}, 180_000);

test('the log of the conversation names the sub-agent, and its tokens count in the conversation', async () => {
  await using chat = await longshore.start({ agent: 'parent', user: 'ann', message: 'What is it?' });
  const ended = await untilEvent(chat, ({ type }) => type === 'agent.ended');
  const [child] = await subAgentsOf(chat.id);
  expect(ended.data).toEqual({ callId: child?.status.parent?.callId, conversationId: child?.conversationId, outcome: 'finished', tokens: 100, steps: 1 });
  await chat.reply();
  await until(async () => (await chat.status()).tokensUsed === 300, 'the tokens of both are counted');
  await chat.close();
}, 180_000);

test('a task whose steps are used up ends, and its parent reads why', async () => {
  await using chat = await longshore.start({ agent: 'guide', user: 'ann', message: 'Go.' });
  expect(await chat.reply()).toBe('It has walked.');
  expect(await resultsOf(chat.id)).toEqual([expect.stringContaining('The budget of this task is used up (steps: 3).')]);
  const [child] = await subAgentsOf(chat.id);
  expect(child?.status.spent).toMatchObject({ tokens: 300, steps: 3 });
  await chat.close();
}, 180_000);

test('several tasks of one step are worked on at the same time, and an unknown name is told with those that are known', async () => {
  await using chat = await longshore.start({ agent: 'several', user: 'ann', message: 'Go.' });
  expect(await chat.reply()).toBe('All have answered.');
  expect((await resultsOf(chat.id)).toSorted()).toEqual([
    'Arguments of agents:run are not valid: agent: there is no agent "nobody"; known are worker, shell. Correct them and call it again',
    'I have looked.',
    'It is 42.',
  ]);
  await chat.close();
}, 180_000);

test('an approval of a sub-agent waits for a person, while its parent waits for it', async () => {
  await using chat = await longshore.start({ agent: 'patient', user: 'ann', message: 'Go.' });
  const conversationId = await startedIn(chat);
  const pending = async () => (await longshore.status(conversationId)).pendingApprovals[0];
  await until(async () => (await pending()) !== undefined, 'the sub-agent asks');
  expect((await chat.status()).pendingApprovals).toEqual([]);
  await longshore.approve(conversationId, { callId: (await pending())!.callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('It was allowed.');
  expect(await resultsOf(chat.id)).toEqual(['Done.']);
  await chat.close();
}, 180_000);

test('a sub-agent that has used its part of the budget ends, and its parent is told and goes on', async () => {
  await using chat = await longshore.start({ agent: 'poor', user: 'ann', message: 'Go.' });
  expect(await chat.reply()).toBe('It has spent it all.');
  expect(await resultsOf(chat.id)).toEqual([
    expect.stringMatching(
      /^The agent "spender" has not finished its task \(failed: The budget of this task is used up \(tokens: 50000; the next step needs about 20\d\d\d\)\.\)\. It said nothing\.$/,
    ),
  ]);
  const [child] = await subAgentsOf(chat.id);
  expect(child?.status.tokensUsed).toBe(40_000);
  await chat.close();
}, 180_000);

test('an agent that nobody waits for works on, and a message says when it has ended', async () => {
  await using chat = await longshore.start({ agent: 'manager', user: 'ann', message: 'Go.' });
  await until(async () => (await chat.status()).turnsUsed === 2 && (await chat.status()).state === 'idle', 'the second turn has ended');
  const [child] = await subAgentsOf(chat.id);
  expect(await resultsOf(chat.id)).toEqual([
    JSON.stringify({ agent: child?.conversationId, next: 'A message says when it has ended; agents:wait waits for that and gives its answer.' }),
  ]);
  const entries = (await longshore.transcript(chat.id)).map(({ entry }) => entry);
  expect(entries.flatMap((entry) => (entry.role === 'user' ? entry.content : []))).toEqual([
    { type: 'text', text: 'Go.' },
    { type: 'text', text: `The agent ${child?.conversationId}, to which you gave a task, has ended. Read its answer with agents:wait.` },
  ]);
  expect((await chat.status()).tokensUsed).toBe(400);
  await chat.close();
}, 180_000);

test('code starts agents, waits for them, sends them messages and stops them', async () => {
  await using chat = await longshore.start({ agent: 'coder', user: 'ann', message: 'Go.' });
  const conversationId = await startedIn(chat);
  expect(await chat.reply()).toBe('The code has ended.');
  const [result] = await resultsOf(chat.id);
  expect(result).toContain('"exitCode":0');
  expect(result).toMatch(/It reads the message before its next step\. \| It is asked to end\. \| (interrupted|cancelled)/);
  expect(result).toContain('This conversation has started no agent \\"conv_other\\".');
  expect((await longshore.status(conversationId)).state).toBe('closed');
  await chat.close();
}, 180_000);

test('a pause reaches the sub-agents, and so does its end', async () => {
  await using chat = await longshore.start({ agent: 'patient', user: 'ann', message: 'Go.' });
  const conversationId = await startedIn(chat);
  await chat.pause({ mode: 'now' });
  await until(async () => (await longshore.status(conversationId)).state === 'paused', 'the sub-agent is paused');
  expect((await longshore.status(conversationId)).paused).toEqual({ by: 'operator', note: 'the conversation that waits for it is paused' });
  await chat.resume();
  await until(async () => (await longshore.status(conversationId)).pendingApprovals.length > 0, 'the sub-agent goes on');
  await longshore.close(conversationId);
  expect(await chat.reply()).toBe('It was allowed.');
  expect(await resultsOf(chat.id)).toEqual(['The agent "waiting" has not finished its task (interrupted). It said nothing.']);
  await chat.close();
}, 180_000);

test.each(['interrupt', 'close'] as const)(
  '%s of a conversation ends its sub-agents',
  async (end) => {
    await using chat = await longshore.start({ agent: 'patient', user: 'ann', message: 'Go.' });
    const conversationId = await startedIn(chat);
    await until(async () => (await longshore.status(conversationId)).pendingApprovals.length > 0, 'the sub-agent asks');
    await chat[end]();
    await until(async () => (await longshore.status(conversationId)).state === 'closed', 'the sub-agent is closed');
    await chat.close();
    await until(async () => (await chat.status()).state === 'closed', 'the conversation is closed');
    const types = (await installation.store.events.read(chat.id, 0)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('agent.') || type === 'conversation.closed')).toEqual([
      'agent.started',
      'agent.ended',
      'conversation.closed',
    ]);
  },
  180_000,
);
