import type { Chat, Longshore } from '../../../src/client.ts';
import type { SandboxUse } from '../../../src/contracts/sub-agents/sandbox-use.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation, type ScriptedStep } from '../support.ts';

/** Sub-agents that work in the sandbox of the agent that gives the task, in a copy of it, or in none. */
let installation: Installation;
let longshore: Longshore;
const use = (agent: string, sandbox: SandboxUse) => ({ agent, description: 'Works.', sandbox });
const shell = (command: string, expect: object = { exitCode: 0 }): ScriptedStep => ({ call: 'shell:run', with: { command }, expect: { ...expect } });
const give = (...agents: string[]): ScriptedStep => ({ calls: agents.map((agent) => ({ call: 'agents:run', with: { agent, task: 'Work.' } })) });
beforeAll(async () => {
  installation = await installAgents({
    family: {
      agents: {
        one: use('adder', 'shared'),
        two: use('adder', 'shared'),
        copier: use('copier', 'fork'),
        thinker: use('thinker', 'none'),
        reader: use('reader', 'shared-read-only'),
      },
      steps: [shell('echo parent > note'), give('one', 'two', 'copier', 'thinker', 'reader'), shell('cat note'), { say: 'Done.' }],
    },
    adder: { checkpoints: 'step', steps: [shell('grep -q parent note && echo added >> note'), { say: 'I have added.' }] },
    copier: { steps: [shell('echo copied >> note; cat note', { stdout: '/^parent\n(added\n)*copied\n$/' }), { say: 'I have a copy.' }] },
    thinker: { steps: [shell('true', { isError: true }), { say: 'I have none.' }] },
    reader: {
      steps: [
        { call: 'files:read', with: { path: 'note' } },
        { call: 'files:write', with: { path: 'note', content: 'overwritten' } },
        shell('echo changed > note', { isError: true }),
        { say: 'I have read.' },
      ],
    },
    top: { agents: { middle: use('middle', 'shared') }, steps: [give('middle'), shell('cat deep'), { say: 'Done.' }] },
    middle: { agents: { bottom: use('bottom', 'shared'), copier: use('empty', 'fork') }, steps: [give('copier', 'bottom'), { say: 'Given.' }] },
    bottom: { steps: [shell('echo bottom > deep'), { say: 'Made.' }] },
    empty: { steps: [shell('ls -A | grep -v longshore | wc -l', { stdout: '0\n' }), { say: 'Empty.' }] },
    impatient: {
      sandbox: { idle: { freeze: '1s', stop: '2s' } },
      agents: { slow: use('slow', 'shared') },
      steps: [{ call: 'agents:start', with: { agent: 'slow', task: 'Work.' } }, { say: 'It works.' }, { say: 'It has ended.' }],
    },
    slow: { steps: [shell('sleep 6; echo slept'), { say: 'Slept.' }] },
    hurried: { agents: { slow: use('endless', 'shared') }, steps: [shell('true'), give('slow'), { say: 'Never said.' }] },
    endless: { steps: [shell('sleep 600'), { say: 'Never said.' }] },
  });
  await installation.startWorker().ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

async function below(chat: Chat) {
  return (await longshore.list()).filter(({ status }) => status.parent?.path.includes(chat.id));
}

async function tiersOf(chat: Chat): Promise<string[]> {
  const tiers: string[] = [];
  for await (const event of chat.events()) {
    if (event.type === 'sandbox.changed') tiers.push(event.data.tier);
    if (event.type === 'sandbox.changed' && event.data.tier === 'stopped') return tiers;
  }
  return tiers;
}

async function closeAndCount(chat: Chat): Promise<void> {
  await chat.close();
  await until(async () => (await chat.status()).state === 'closed', 'it is closed');
  expect([await installation.containers(), await installation.volumes()]).toEqual([[], []]);
}

test('several work in the sandbox of their parent, one in a copy, one reads only, and one has none', async () => {
  await using chat = await longshore.start({ agent: 'family', user: 'ann', message: 'Go.' });
  expect(await chat.reply()).toBe('Done.');
  const results = (await resultsOf(chat)).map(({ text, stdout }) => text ?? stdout);
  expect(results.slice(1, -1).map(String).toSorted()).toEqual(['I have a copy.', 'I have added.', 'I have added.', 'I have none.', 'I have read.']);
  expect(results.at(-1)).toBe('parent\nadded\nadded\n');
  const children = await below(chat);
  const owners = Object.fromEntries(children.map(({ agentId, status }) => [agentId, status.parent?.sandbox]));
  const shared = { conversationId: chat.id };
  expect(owners).toEqual({
    adder: { use: 'shared', ...shared },
    reader: { use: 'shared-read-only', ...shared },
    copier: { use: 'fork' },
    thinker: { use: 'none' },
  });
  const reader = await longshore.chat(children.find(({ agentId }) => agentId === 'reader')!.conversationId);
  const [read, ...refused] = (await resultsOf(reader)).map((result) => JSON.stringify(result));
  expect(read).toContain('parent');
  expect(refused).toEqual(['files:write', 'shell:run'].map((tool) => expect.stringContaining(`Unknown tool \\"${tool}\\"`)));
  // Only the parent's sandbox is left; it is the parent's to destroy.
  expect(await installation.containers()).toHaveLength(1);
  await closeAndCount(chat);
}, 180_000);

test('a parent without a sandbox gets one when a sub-agent needs it, whatever the level, and there is nothing to copy before', async () => {
  await using chat = await longshore.start({ agent: 'top', user: 'ann', message: 'Go.' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat)).at(-1)).toMatchObject({ stdout: 'bottom\n' });
  expect(Object.fromEntries((await below(chat)).map(({ agentId, status }) => [agentId, status.parent?.sandbox]))).toEqual({
    bottom: { use: 'shared', conversationId: chat.id },
    empty: { use: 'fork' },
    middle: { use: 'shared', conversationId: chat.id },
  });
  await closeAndCount(chat);
}, 180_000);

test('the sandbox does not rest while a sub-agent works in it, and rests when it has ended', async () => {
  await using chat = await longshore.start({ agent: 'impatient', user: 'ann', message: 'Go.' });
  const ended = untilEvent(chat, ({ type }) => type === 'conversation.closed').catch(() => undefined);
  expect(await tiersOf(chat)).toEqual(['running', 'frozen', 'stopped']);
  const [child] = await below(chat);
  expect(await resultsOf(await longshore.chat(child!.conversationId))).toEqual([expect.objectContaining({ exitCode: 0, stdout: 'slept\n' })]);
  await closeAndCount(chat);
  await ended;
}, 180_000);

test('interrupting the parent ends the command of a sub-agent in its sandbox, which stays', async () => {
  await using chat = await longshore.start({ agent: 'hurried', user: 'ann', message: 'Go.' });
  const started = await untilEvent(chat, ({ type }) => type === 'agent.started');
  const child = await longshore.chat(started.type === 'agent.started' ? started.data.conversationId : '');
  await untilEvent(child, ({ type }) => type === 'tool.started');
  await chat.interrupt();
  await until(async () => (await child.status()).state === 'closed', 'the sub-agent is closed');
  const calls = (await resultsOf(child)).map(({ text }) => text);
  expect(calls).toEqual([expect.stringContaining('Interrupted on request')]);
  expect(await installation.containers()).toHaveLength(1);
  await closeAndCount(chat);
}, 180_000);
