import type { Chat, ConversationEvent } from '../../src/client.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type WorkerProcess } from './support.ts';

const approval = [{ tool: 'shell:run', decide: 'ask' }];
const command = (line: string, expect?: Record<string, string | number | boolean>) => ({
  call: 'shell:run',
  with: { command: line },
  ...(expect && { expect }),
});

let installation: Installation;
let worker: WorkerProcess;

beforeAll(async () => {
  installation = await installAgents({
    twice: { approval, steps: [command('echo one >> log'), command('echo two >> log; cat log'), { say: 'Done.' }] },
    together: {
      approval,
      steps: [{ calls: [command('echo one'), command('echo two'), { call: 'files:list', with: { path: '/home/user' } }] }, { say: 'Done.' }],
    },
    refused: { approval, steps: [command('touch mark', { isError: true }), { call: 'files:list', with: { path: '/home/user' } }, { say: 'I see.' }] },
    edited: { approval, steps: [command('echo wrong'), { say: 'Done.' }] },
    forgotten: { approval, approvalTimeout: '300ms', steps: [command('touch mark', { isError: true }), { say: 'Nobody came.' }] },
    forbidden: {
      approval: [...approval, { tool: '*', when: { command: 'rm *' }, decide: 'deny' }],
      steps: [command('rm -r /', { isError: true }), { say: 'I may not.' }],
    },
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });

/** The n-th approval that the conversation asks for. */
async function untilAsked(chat: Chat, count = 1): Promise<{ callId: string; hash: string; data: ConversationEvent['data'] }> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested' && ++seen === count);
  return { callId: textIn(data, 'callId'), hash: textIn(data, 'hash'), data };
}

async function typesOf(chat: Chat, type: ConversationEvent['type']): Promise<ConversationEvent['data'][]> {
  const events = await installation.store.events.read(chat.id, 0);
  return events.flatMap((event) => (event.type === type ? [event.data] : []));
}

test('a person is shown what is asked and why, and allow-once holds for one call', async () => {
  const chat = await start('twice');
  const first = await untilAsked(chat);
  expect(first.data).toMatchObject({ tool: 'shell:run', arguments: { command: 'echo one >> log' }, why: 'rule 1 of the agent: shell:run is asked' });
  await until(async () => (await chat.status()).state === 'awaiting-approval', 'the status says so');
  expect((await chat.status()).pendingApprovals).toMatchObject([{ callId: first.callId, hash: first.hash, arguments: { command: 'echo one >> log' } }]);
  expect(await typesOf(chat, 'tool.started')).toEqual([]);
  await chat.approve({ callId: first.callId, answer: 'allow-once', by: 'ada' });
  const second = await untilAsked(chat, 2);
  await chat.approve({ callId: second.callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat)).at(-1)).toMatchObject({ stdout: 'one\ntwo\n' });
  expect(await typesOf(chat, 'tool.approval-resolved')).toMatchObject([{ callId: first.callId, answer: 'allow-once', by: 'ada' }, { callId: second.callId }]);
  expect((await chat.status()).pendingApprovals).toEqual([]);
  await chat.close();
});

test('allow is remembered for the tool', async () => {
  const chat = await start('twice');
  const { callId } = await untilAsked(chat);
  await chat.approve({ callId, answer: 'allow' });
  expect(await chat.reply()).toBe('Done.');
  expect(await typesOf(chat, 'tool.approval-requested')).toHaveLength(1);
  await chat.close();
});

test('calls of one answer are asked for together, and allow answers those of the same tool', async () => {
  const chat = await start('together');
  await untilAsked(chat, 2);
  await until(async () => (await chat.status()).pendingApprovals.length === 2, 'both are pending');
  const [first] = (await chat.status()).pendingApprovals;
  await chat.approve({ callId: first?.callId ?? '', answer: 'allow' });
  expect(await chat.reply()).toBe('Done.');
  expect(await typesOf(chat, 'tool.approval-resolved')).toHaveLength(2);
  expect((await resultsOf(chat)).map((result) => result['stdout'])).toEqual(expect.arrayContaining(['one\n', 'two\n']));
  await chat.close();
});

test('a denied call is not run, and the agent reads the reason', async () => {
  const chat = await start('refused');
  const { callId } = await untilAsked(chat);
  await chat.approve({ callId, answer: 'deny', reason: 'Not on a Sunday.', by: 'ada' });
  expect(await chat.reply()).toBe('I see.');
  const [denied, listing] = await resultsOf(chat);
  expect(denied).toEqual({ isError: true, text: 'Denied by an operator: Not on a Sunday.' });
  expect(JSON.stringify(listing)).not.toContain('mark');
  expect(await typesOf(chat, 'tool.approval-resolved')).toMatchObject([{ answer: 'deny', reason: 'Not on a Sunday.', by: 'ada' }]);
  await chat.close();
});

test('edited arguments that do not fit are refused, those that fit are run, and the transcript tells', async () => {
  const chat = await start('edited');
  const { callId, hash } = await untilAsked(chat);
  await expect(chat.approve({ callId, hash, answer: 'allow-once', editedArguments: { command: 7 } })).rejects.toMatchObject({
    code: 'TOOL_ARGUMENTS_INVALID',
    message: expect.stringMatching(/^Arguments of shell:run are not valid: .*command/),
  });
  await chat.approve({ callId, hash, answer: 'allow-once', editedArguments: { command: 'echo right' } });
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'right\n' }]);
  const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
  expect(notes.join()).toContain('echo right');
  await chat.close();
});

test('an approval that is not given expires, and the call is not run', async () => {
  const chat = await start('forgotten');
  expect(await chat.reply()).toBe('Nobody came.');
  expect(await resultsOf(chat)).toEqual([{ isError: true, text: 'This call was not approved in time; it was not run.' }]);
  expect(await typesOf(chat, 'tool.approval-resolved')).toMatchObject([{ answer: 'expired' }]);
  const [asked] = await typesOf(chat, 'tool.approval-requested');
  await expect(chat.approve({ callId: textIn(asked, 'callId'), answer: 'allow' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  await chat.close();
});

test('what the policy denies needs no answer', async () => {
  const chat = await start('forbidden');
  expect(await chat.reply()).toBe('I may not.');
  expect(await resultsOf(chat)).toMatchObject([{ isError: true, text: expect.stringContaining('Denied by policy: rule 2') }]);
  expect(await typesOf(chat, 'tool.approval-requested')).toEqual([]);
  await chat.close();
});

test('an approval outlives the workers', async () => {
  const chat = await start('edited');
  const { callId } = await untilAsked(chat);
  await until(async () => (await chat.status()).state === 'awaiting-approval', 'all of it is saved');
  await worker.kill();
  expect((await chat.status()).pendingApprovals).toMatchObject([{ callId }]);
  worker = installation.startWorker();
  await worker.ready;
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  await chat.close();
});
