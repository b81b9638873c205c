import { createHash } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { Chat } from '../../../src/client.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, textIn, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';
import { openHeldProvider, type HeldProvider } from './held-provider.ts';

/** Each tenant may run one turn at a time; each test has a tenant of its own. */
let installation: Installation;
let provider: HeldProvider;
let worker: WorkerProcess;
const usage = { inputTokens: 8, outputTokens: 2 };
const helper = { agent: 'helper', description: 'Helps.' };
beforeAll(async () => {
  provider = await openHeldProvider();
  installation = await installAgents({
    held: provider.agent,
    helper: { steps: [{ say: 'It is 42.', usage }] },
    asker: {
      memory: 'user',
      tools: ['memory:*'],
      approval: [{ tool: 'memory:write', decide: 'ask' }],
      steps: [
        { call: 'memory:write', with: { path: 'a.md', content: 'A' }, usage },
        { say: 'It is written.', usage },
      ],
    },
    urgent: { ...provider.agent, priority: 'high' },
    patient: { ...provider.agent, priority: 'low' },
    parent: {
      tools: ['agents:*'],
      agents: { helper, parent: { agent: 'middle', description: 'Asks its own helper.' } },
      steps: [
        {
          calls: [
            { call: 'agents:run', with: { agent: 'helper', task: 'One.' } },
            { call: 'agents:run', with: { agent: 'parent', task: 'Two.' } },
          ],
          usage,
        },
        { say: 'Both have answered.', usage },
      ],
    },
    middle: {
      tools: ['agents:*'],
      agents: { helper },
      steps: [
        { call: 'agents:run', with: { agent: 'helper', task: 'Three.' }, usage },
        { say: 'My helper has answered.', usage },
      ],
    },
  });
  installation.environment['LONGSHORE_LIMITS'] = 'runningTurns=1';
  worker = installation.startWorker();
  await worker.ready;
}, 180_000);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
}, 180_000);

function start(tenant: string, message: string, agent = 'held'): Promise<Chat> {
  return installation.longshore.start({ agent, user: 'ann', tenant, message });
}
const line = (...args: string[]) => runLine(installation.longshore, args);
const untilInLine = (chat: Chat) => until(async () => (await chat.status()).waitsForPlace !== undefined, 'the turn stands in the line');

/** Starts a conversation whose turn runs until the test answers it. */
async function run(tenant: string, message: string): Promise<Chat> {
  const chat = await start(tenant, message);
  await provider.untilAsked(message);
  return chat;
}
/** Starts a conversation whose turn has to wait. */
async function wait(tenant: string, message: string): Promise<Chat> {
  const chat = await start(tenant, message);
  await untilInLine(chat);
  return chat;
}
async function end(chat: Chat, message: string): Promise<void> {
  await provider.untilAsked(message);
  provider.answer(message);
  expect(await chat.reply()).toBe(`Answer to ${message}`);
}

async function workflowOf<T>(conversationId: string, use: (workflow: WorkflowHandle) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    return await use(new Client({ connection }).workflow.getHandle(conversationId));
  } finally {
    await connection.close();
  }
}

test('the second turn of a tenant waits, says so, and goes on at the end of the first; other tenants are not affected', async () => {
  const first = await run('one', 'one/first');
  const second = await wait('one', 'one/second');
  const waitsForPlace = { limit: 'tenant', name: 'one', running: 1, allowed: 1 };
  expect(await second.status()).toMatchObject({ state: 'running', stepsUsed: 0, waitsForPlace });
  expect((await line('show', second.id)).out).toContain('\nwaits for a free place: 1 of 1 running turns of tenant one\n');
  expect((await line('ls', '--tenant', 'one')).out).toMatch(/ running, waits +none /);
  expect(await untilEvent(second, ({ type }) => type === 'turn.waiting')).toMatchObject({ data: waitsForPlace });
  await end(await run('other', 'other/first'), 'other/first');
  expect(provider.asked).not.toContain('one/second');
  await end(first, 'one/first');
  await end(second, 'one/second');
  expect(await second.status()).not.toHaveProperty('waitsForPlace');
  const types: string[] = [];
  await second.close();
  for await (const { type } of second.events()) types.push(type);
  expect(types.filter((type) => type.startsWith('turn.'))).toEqual(['turn.started', 'turn.waiting', 'turn.finished']);
}, 120_000);

test('a turn whose worker is killed keeps its place, and who waits goes on at its end', async () => {
  const first = await run('killed', 'killed/first');
  const second = await wait('killed', 'killed/second');
  const next = installation.startWorker();
  await next.ready;
  await worker.kill();
  worker = next;
  await provider.untilAsked('killed/first', 2);
  expect(provider.asked).not.toContain('killed/second');
  await end(first, 'killed/first');
  await end(second, 'killed/second');
}, 120_000);

test('a turn that waits can be interrupted, and its conversation closed; the line goes on behind it', async () => {
  const first = await run('left', 'left/first');
  const [interrupted, closed] = [await wait('left', 'left/interrupted'), await wait('left', 'left/closed')];
  const last = await wait('left', 'left/last');
  await interrupted.interrupt();
  await until(async () => (await interrupted.status()).lastTurn?.outcome === 'interrupted', 'the turn has ended');
  await closed.close();
  await until(async () => (await closed.status()).state === 'closed', 'the conversation is closed');
  expect(await closed.status()).not.toHaveProperty('waitsForPlace');
  await end(first, 'left/first');
  await end(last, 'left/last');
  expect(provider.asked.filter((text) => text.startsWith('left/'))).toEqual(['left/first', 'left/last']);
}, 120_000);

test('a limit that an operator raises lets the next turn go on within seconds', async () => {
  const first = await run('raised', 'raised/first');
  const second = await wait('raised', 'raised/second');
  expect(await line('limits', 'set', '--tenant', 'raised', '--running-turns', '2')).toMatchObject({ code: 0, err: '' });
  await provider.untilAsked('raised/second');
  await end(second, 'raised/second');
  await end(first, 'raised/first');
}, 120_000);

test('a turn that waits for a person has no place, and gets one before the approved call runs', async () => {
  const asker = await start('asked', 'Write.', 'asker');
  const { data } = await untilEvent(asker, ({ type }) => type === 'tool.approval-requested');
  const other = await run('asked', 'asked/other');
  await asker.approve({ callId: textIn(data, 'callId'), answer: 'allow-once' });
  await untilInLine(asker);
  await end(other, 'asked/other');
  expect(await asker.reply()).toBe('It is written.');
}, 120_000);

test('a paused turn has no place', async () => {
  const asker = await start('paused', 'Write.', 'asker');
  await untilEvent(asker, ({ type }) => type === 'tool.approval-requested');
  await asker.pause();
  await until(async () => (await asker.status()).state === 'paused', 'the conversation is paused');
  await end(await run('paused', 'paused/other'), 'paused/other');
}, 120_000);

test('with one place, a turn and its sub-agents on two levels end, whoever else gets the place in between', async () => {
  const first = await run('tree', 'tree/first');
  const parent = await start('tree', 'Ask both.', 'parent');
  await untilInLine(parent);
  const last = await wait('tree', 'tree/last');
  await end(first, 'tree/first');
  const [said] = await Promise.all([parent.reply(), end(last, 'tree/last')]);
  expect(said).toBe('Both have answered.');
  expect((await parent.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.isError] : []))).toEqual([false, false]);
}, 120_000);

test('the place of a conversation that was terminated is free again when a worker has closed it', async () => {
  const first = await run('ended', 'ended/first');
  const second = await wait('ended', 'ended/second');
  // As an operator does in the Temporal UI: nothing of it runs any more, not even its cleaning up.
  await workflowOf(first.id, (workflow) => workflow.terminate('by a test'));
  // A worker that starts closes such conversations; the others do so every five minutes.
  await installation.startWorker().ready;
  await end(second, 'ended/second');
}, 120_000);

test('Temporal knows the tenant as the key of its fairness, shortened where its name is too long', async () => {
  const long = 'ä'.repeat(40);
  for (const [tenant, key] of [
    ['short', 'short'],
    [long, createHash('sha256').update(long).digest('hex')],
  ] as const) {
    const { id } = await installation.longshore.start({ agent: 'held', user: 'ann', tenant });
    const { raw } = await workflowOf(id, (workflow) => workflow.describe());
    expect(raw.workflowExecutionInfo?.priority?.fairnessKey).toBe(key);
  }
}, 60_000);

test('Temporal knows the priority of the agent', async () => {
  for (const [agent, key] of [
    ['held', 0],
    ['urgent', 2],
    ['patient', 4],
  ] as const) {
    const { id } = await installation.longshore.start({ agent, user: 'ann' });
    const { raw } = await workflowOf(id, (workflow) => workflow.describe());
    expect(raw.workflowExecutionInfo?.priority?.priorityKey ?? 0).toBe(key);
  }
}, 60_000);

test('with one place in the installation, a tenant with 30 turns delays the single turn of another one by the end of one turn', async () => {
  await using single = await installAgents({ held: provider.agent });
  single.environment['LONGSHORE_MAX_RUNNING_TURNS'] = '1';
  await single.startWorker().ready;
  const begin = (tenant: string, message: string) => single.longshore.start({ agent: 'held', user: 'ann', tenant, message });
  const messages = Array.from({ length: 30 }, (_, index) => `many/${index}`);
  const [first = '', ...others] = messages;
  const chats = [await begin('many', first)];
  await provider.untilAsked(first);
  // One after the other, so that their order is known.
  for (const message of others) {
    const chat = await begin('many', message);
    await untilInLine(chat);
    chats.push(chat);
  }
  const few = await begin('few', 'few/only');
  await untilInLine(few);
  expect((await few.status()).waitsForPlace).toEqual({ limit: 'installation', running: 1, allowed: 1 });
  const order = [first, 'few/only', ...others];
  for (const message of order) {
    await provider.untilAsked(message);
    provider.answer(message);
  }
  await Promise.all([...chats, few].map((chat) => chat.reply()));
  expect(provider.asked.filter((text) => /^(many|few)\//.test(text))).toEqual(order);
}, 180_000);
