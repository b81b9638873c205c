import { fileURLToPath } from 'node:url';
import type { Chat, ConversationEvent } from '../../../src/client.ts';
import { createRichServer } from '../../plugins/dialects/mcp/rich-server.ts';
import { richProgram, serveFixture, type ServedFixture } from '../../plugins/dialects/mcp/support.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/mcp', import.meta.url));

/** Such calls would then run. */
const approvalTimeout = JSON.parse('{"after":"300ms","then":"allow"}') as object;

let served: ServedFixture;
let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  served = await serveFixture(0, createRichServer);
  const remote = { far: { url: served.url } };
  const near = { near: { ...(await richProgram()), timeoutMs: undefined, timeout: '2s' } };
  installation = await installAgents({
    booking: { mcp: remote, tools: ['far:*'], steps: [{ call: 'far:book' }, { say: 'Booked.' }] },
    hurried: { mcp: remote, tools: ['far:*'], approvalTimeout, steps: [{ call: 'far:book' }, { say: 'Nobody came.' }] },
    withdrawn: { mcp: remote, tools: ['far:*'], steps: [{ call: 'far:hurry' }, { say: 'Too late.' }] },
    paying: { mcp: near, tools: ['near:*'], steps: [{ call: 'near:pay' }, { say: 'Paid.' }] },
    inside: {
      mcp: { inner: { command: 'node', args: ['guest-server.cjs'], directory: '/home/user/mcp', where: 'sandbox', timeout: '3s' } },
      tools: ['inner:*'],
      sandbox: { idle: { freeze: '200ms' }, assets: [{ from: FIXTURES, to: '/home/user/mcp' }] },
      steps: [{ call: 'inner:ask' }, { say: 'Known.' }],
    },
    thinking: {
      mcp: { asking: { url: served.url, sampling: 'ask' } },
      tools: ['asking:*'],
      budget: { tokens: 100_000 },
      steps: [
        { call: 'asking:think', with: { params: { messages: [{ role: 'user', content: { type: 'text', text: 'How high?' } }], maxTokens: 50 } } },
        { say: 'Thought.' },
      ],
      plugin: { say: 'Very high.', usage: { inputTokens: 300, outputTokens: 20 } },
    },
    musing: {
      mcp: { muse: { command: 'node', args: ['guest-server.cjs'], directory: '/home/user/mcp', where: 'sandbox', timeout: '3s', sampling: 'ask' } },
      tools: ['muse:*'],
      budget: { tokens: 100_000 },
      sandbox: { idle: { freeze: '200ms' }, assets: [{ from: FIXTURES, to: '/home/user/mcp' }] },
      steps: [{ call: 'muse:think' }, { say: 'Thought.' }],
      plugin: { say: 'Very high.', usage: { inputTokens: 300, outputTokens: 20 } },
    },
    lost: { mcp: near, tools: ['near:*'], steps: [{ call: 'near:book', expect: { isError: true } }, { say: 'Lost.' }] },
    again: { mcp: near, tools: ['near:*'], steps: [{ call: 'near:book_aside' }, { say: 'Booked.' }] },
  });
  installation.environment['LONGSHORE_HOST_PLUGINS'] = 'mcp:near';
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const start = (agent: string, more: { unattended?: boolean } = {}) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.', ...more });

async function untilAsked(chat: Chat): Promise<{ callId: string; hash: string; data: ConversationEvent['data'] }> {
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  return { callId: textIn(data, 'callId'), hash: textIn(data, 'hash'), data };
}

/** What the server was told, which it gives as its result. */
const answerOf = async (chat: Chat): Promise<unknown> => {
  const [told] = await resultsOf(chat);
  return told?.['text'] ?? told;
};

test('a form waits in the inbox as the words of its server, and the answer returns to the call that asked', async () => {
  const chat = await start('booking');
  const { callId, hash, data } = await untilAsked(chat);
  expect(data).toMatchObject({
    tool: 'far:elicitation/create',
    why: 'The MCP server far asks. Its words are its own, not those of the agent or of Longshore; give it no password or key.',
    arguments: { server: 'far', message: 'Where do you want to go?', answer: { nights: 2, seat: 'aisle' } },
  });
  await until(async () => (await chat.status()).state === 'awaiting-approval', 'the status says so');
  const answer = (given: object) => chat.approve({ callId, answer: 'allow', ...given });
  await expect(answer({})).rejects.toMatchObject({
    message: 'Arguments of far:elicitation/create are not valid: answer/city: missing. Correct them and call it again',
  });
  await expect(answer({ editedArguments: { answer: { city: 'Oslo' }, message: 'Mine' } })).rejects.toThrow(
    `the question is the server's: only "answer" can be given, an object of its fields`,
  );
  await answer({ hash, editedArguments: { answer: { city: 'Oslo', nights: 3, seat: 'window' } } });
  expect(await chat.reply()).toBe('Booked.');
  expect(await answerOf(chat)).toEqual({ action: 'accept', content: { city: 'Oslo', nights: 3, seat: 'window' } });
  // It is between the person and the server.
  expect(JSON.stringify((await chat.transcript()).filter(({ entry }) => entry.role === 'note'))).not.toContain('Oslo');
  expect((await chat.status()).allowedTools).toBeUndefined();
  await chat.close();
});

test('a person declines', async () => {
  const chat = await start('booking');
  await chat.approve({ callId: (await untilAsked(chat)).callId, answer: 'deny' });
  expect(await chat.reply()).toBe('Booked.');
  expect(await answerOf(chat)).toEqual({ action: 'decline' });
  await chat.close();
});

test('a server asks the model once a person has allowed it, and what that uses counts', async () => {
  const chat = await start('thinking');
  const { callId, data } = await untilAsked(chat);
  expect(data).toMatchObject({ tool: 'asking:elicitation/create', arguments: { message: expect.stringContaining('user: How high?') as string } });
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Thought.');
  expect(await answerOf(chat)).toMatchObject({ role: 'assistant', content: { type: 'text', text: 'Very high.' } });
  expect((await chat.status()).tokensUsed).toBeGreaterThanOrEqual(320);
  await chat.close();
});

test('a page is shown with its address, and the time in which a person is asked does not count for the call', async () => {
  const chat = await start('paying');
  const { callId, data } = await untilAsked(chat);
  expect(data).toMatchObject({ arguments: { server: 'near', message: 'Pay there.', url: 'https://pay.example/42' } });
  const begun = (await chat.status()).pendingApprovals[0]?.requestedAtMs ?? 0;
  await until(async () => Date.now() - begun > 3_000, 'more time than the call has');
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Paid.');
  expect(await answerOf(chat)).toEqual({ action: 'accept' });
  await chat.close();
});

test.each([
  ['hurried', 'is not answered in time, whatever the agent says about calls', 'Nobody came.', { action: 'cancel' }, 'Nobody has answered in time.'],
  ['withdrawn', 'its server wants no answer to any more', 'Too late.', 'MCP error -32001: Request timed out', 'The question was withdrawn before an answer.'],
])('%s: a question that %s ends, and so does its place in the inbox', async (agent, _what, said, told, end) => {
  const chat = await start(agent);
  const { callId } = await untilAsked(chat);
  expect(await chat.reply()).toBe(said);
  expect(await answerOf(chat)).toEqual(told);
  await until(async () => (await installation.store.toolCalls.get(callId))?.content !== undefined, 'the end is stored');
  expect((await installation.store.toolCalls.get(callId))?.content).toEqual([{ type: 'text', text: end }]);
  expect((await chat.status()).pendingApprovals).toEqual([]);
  await chat.close();
});

test('nobody is asked in an unattended conversation', async () => {
  const chat = await start('booking', { unattended: true });
  expect(await chat.reply()).toBe('Booked.');
  expect((await chat.status()).pendingApprovals).toEqual([]);
  await chat.close();
});

test('a call that may be repeated goes on with the answer to its question when its worker was killed meanwhile', async () => {
  const chat = await start('again');
  const { callId } = await untilAsked(chat);
  await replaceWorker();
  await chat.approve({ callId, answer: 'allow-once', editedArguments: { answer: { city: 'Bergen' } } });
  expect(await chat.reply()).toBe('Booked.');
  expect(await answerOf(chat)).toEqual({ action: 'accept', content: { city: 'Bergen' } });
  expect((await installation.store.events.read(chat.id, 0)).filter(({ type }) => type === 'tool.approval-requested')).toHaveLength(1);
  await chat.close();
});

test('a call of a server in the sandbox waits for its answer while no worker is there and its sandbox rests, and goes on', async () => {
  const chat = await start('inside');
  const { callId, data } = await untilAsked(chat);
  expect(data).toMatchObject({ tool: 'inner:elicitation/create', arguments: { server: 'inner', message: 'Who are you?', answer: {} } });
  await until(async () => (await installation.store.sandboxes.ofConversation(chat.id))?.state === 'frozen', 'the sandbox rests');
  await replaceWorker();
  await chat.approve({ callId, answer: 'allow-once', editedArguments: { answer: { name: 'Ada' } } });
  expect(await chat.reply()).toBe('Known.');
  expect(await answerOf(chat)).toEqual({ action: 'accept', content: { name: 'Ada' } });
  await chat.close();
});

test('a server in the sandbox asks the model once a person has allowed it, also when its worker was killed meanwhile, and that counts once', async () => {
  const chat = await start('musing');
  const { callId, data } = await untilAsked(chat);
  expect(data).toMatchObject({
    tool: 'muse:elicitation/create',
    arguments: {
      server: 'muse',
      message: 'It wants to ask the model of this conversation, at the cost of the conversation, and gets the answer:\n\nuser: How high is the tide?',
    },
  });
  await until(async () => (await installation.store.sandboxes.ofConversation(chat.id))?.state === 'frozen', 'the sandbox rests');
  await replaceWorker();
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Thought.');
  expect(await answerOf(chat)).toMatchObject({ role: 'assistant', content: { type: 'text', text: 'Very high.' } });
  const asked = await installation.store.usage.under(chat.id, 'plugin-');
  expect(asked).toMatchObject({ calls: 1, inputTokens: 300, outputTokens: 20 });
  const { inputTokens, outputTokens } = await installation.store.usage.under(chat.id, '');
  expect((await chat.status()).tokensUsed).toBe(inputTokens + outputTokens);
  await chat.close();
});

test('the result of a call outside the sandbox is unknown when its worker died while a person was asked, and its question is withdrawn', async () => {
  const chat = await start('lost');
  const { callId } = await untilAsked(chat);
  await replaceWorker();
  expect(await chat.reply()).toBe('Lost.');
  expect(await answerOf(chat)).toBe(
    'It is not known whether this call took effect: an earlier attempt at it was stored, and how far that came is not known: its worker died or was stopped, or the answer of Postgres to it was lost\nCheck the current state before you repeat it.',
  );
  expect((await chat.status()).pendingApprovals).toEqual([]);
  expect((await installation.store.toolCalls.get(callId))?.content).toEqual([{ type: 'text', text: 'What asked for this call has ended; it was not run.' }]);
  await chat.close();
}, 120_000);

/** Kills the worker, and waits until another one is there. */
async function replaceWorker(): Promise<void> {
  await worker.kill();
  worker = installation.startWorker();
  await worker.ready;
}
