import { rm } from 'node:fs/promises';
import type { Chat, ConversationEvent } from '../../../src/client.ts';
import { newerFile, serveNewer, type ServedNewer } from '../../plugins/dialects/mcp/generations/newer-support.ts';
import { installAgents, resultsOf, textIn, untilEvent, type Installation, type WorkerProcess } from '../support.ts';

let served: ServedNewer;
let installation: Installation;
let worker: WorkerProcess;
let inner: Awaited<ReturnType<typeof newerFile>>;
beforeAll(async () => {
  served = await serveNewer({ legacy: 'reject' });
  const far = { far: { url: served.url } };
  inner = await newerFile();
  const server = { command: 'node', args: [inner.file], directory: '/home/user/mcp', where: 'sandbox', timeout: '5s' };
  const sandbox = { idle: { freeze: '200ms' }, assets: [{ from: inner.directory, to: '/home/user/mcp' }] };
  const inside = { tools: ['inner:*'], sandbox };
  installation = await installAgents({
    calling: { mcp: far, tools: ['far:*'], requireApproval: { 'far:era': false }, steps: [{ call: 'far:era' }, { say: 'Called.' }] },
    asking: { mcp: far, tools: ['far:*'], requireApproval: { 'far:ask_twice': false }, steps: [{ call: 'far:ask_twice' }, { say: 'Asked.' }] },
    near: {
      mcp: { inner: server },
      ...inside,
      requireApproval: { 'inner:*': false },
      steps: [{ call: 'inner:era' }, { call: 'inner:report' }, { say: 'Called.' }],
    },
    waiting: { mcp: { inner: server }, ...inside, requireApproval: { 'inner:*': false }, steps: [{ call: 'inner:ask_twice' }, { say: 'Asked.' }] },
    musing: {
      mcp: { muse: { ...server, sampling: 'allow' } },
      tools: ['muse:*'],
      sandbox,
      requireApproval: { 'muse:*': false },
      budget: { tokens: 100_000 },
      steps: [{ call: 'muse:think' }, { say: 'Thought.' }],
      plugin: { say: 'Very high.', usage: { inputTokens: 300, outputTokens: 20 } },
    },
    watching: {
      mcp: { inner: server },
      ...inside,
      requireApproval: { 'inner:*': false },
      steps: [{ call: 'inner:watch_resource', with: { uri: 'tide:now' } }, { call: 'inner:read_resource', with: { uri: 'tide:now' } }, { say: 'Watched.' }],
    },
    endless: {
      mcp: { inner: server },
      ...inside,
      requireApproval: { 'inner:*': false },
      steps: [{ call: 'inner:big_state', expect: { isError: true } }, { say: 'Refused.' }],
    },
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
  await rm(inner.directory, { recursive: true, force: true });
});

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
const textOf = async (chat: Chat): Promise<unknown[]> => (await resultsOf(chat)).map((told) => told['text'] ?? told);

/** Answers the questions of a call, in their order. `before` runs before the last answer. */
async function answerAll(chat: Chat, cities: string[], before: () => Promise<void>): Promise<void> {
  const answered = new Set<string>();
  for (const [at, city] of cities.entries()) {
    const isNew = ({ type, data }: ConversationEvent) => type === 'tool.approval-requested' && !answered.has(textIn(data, 'callId'));
    const { data } = await untilEvent(chat, isNew);
    if (at === cities.length - 1) await before();
    answered.add(textIn(data, 'callId'));
    await chat.approve({ callId: textIn(data, 'callId'), answer: 'allow', hash: textIn(data, 'hash'), editedArguments: { answer: { city } } });
  }
}

async function anotherWorker(): Promise<void> {
  await worker.kill();
  worker = installation.startWorker();
  await worker.ready;
}

test('a tool of a server that speaks only the revision 2026-07-28 is called over HTTP', async () => {
  const chat = await start('calling');
  expect(await chat.reply()).toBe('Called.');
  expect(await textOf(chat)).toEqual(['modern']);
});

test('a call that waits for a person outlives its worker: the next one goes on with the open round, and nothing is asked again', async () => {
  const chat = await start('asking');
  await answerAll(chat, ['Oslo', 'Bergen', 'Tromsø'], anotherWorker);
  expect(await chat.reply()).toBe('Asked.');
  expect(await textOf(chat)).toEqual(['Tromsø']);
  expect(served.shared.calls).toEqual(['ask_twice 0', 'ask_twice 1', 'ask_twice 2']);
});

test('a server in the sandbox speaks that revision, too', async () => {
  const chat = await start('near');
  expect(await chat.reply()).toBe('Called.');
  expect(await textOf(chat)).toEqual(['modern', 'reported']);
});

test('a server in the sandbox asks in rounds, over the end of a worker', async () => {
  const chat = await start('waiting');
  await answerAll(chat, ['Oslo', 'Bergen', 'Tromsø'], anotherWorker);
  expect(await chat.reply()).toBe('Asked.');
  expect(await textOf(chat)).toEqual(['Tromsø']);
});

test('a server in the sandbox asks the model', async () => {
  const chat = await start('musing');
  expect(await chat.reply()).toBe('Thought.');
  const thought = { role: 'assistant', content: { type: 'text', text: 'Very high.' } };
  expect((await textOf(chat))[0]).toMatchObject({ thought });
});

test('a resource of a server in the sandbox is watched', async () => {
  const chat = await start('watching');
  expect(await chat.reply()).toBe('Watched.');
  expect((await textOf(chat))[0]).toBe('It is watched.');
});

test('a server in the sandbox that asks too much is refused', async () => {
  const chat = await start('endless');
  expect(await chat.reply()).toBe('Refused.');
  expect(String((await textOf(chat))[0])).toContain('the state of its request is no text of 262144 characters at most');
});
