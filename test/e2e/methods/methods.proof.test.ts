import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { Chat, ConversationEvent } from '../../../src/client.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { METHOD_AGENTS } from './method-agents.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';

let installation: Installation;
let worker: WorkerProcess;

beforeAll(async () => {
  installation = await installAgents(METHOD_AGENTS);
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (name: string) => installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.' });

/** The n-th approval that the conversation asks for. */
async function untilAsked(chat: Chat, count = 1): Promise<{ callId: string; hash: string; data: ConversationEvent['data'] }> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested' && ++seen === count);
  return { callId: textIn(data, 'callId'), hash: textIn(data, 'hash'), data };
}

/** What runs in the container as the sandbox's user. */
async function guestProcesses(container: string): Promise<string[]> {
  const { stdout } = await runCommand('docker', ['top', container, '-eo', 'uid,pid,args']);
  return stdout.split('\n').filter((line) => /^ *1000 /.test(line));
}

async function pendingActivities({ id }: Chat): Promise<number> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const { raw } = await new Client({ connection }).workflow.getHandle(id).describe();
    return raw.pendingActivities?.length ?? 0;
  } finally {
    await connection.close();
  }
}

test('a script waits for an approval in mid-line; its worker is killed meanwhile, and it goes on in the next one', async () => {
  const chat = await start('waits');
  const { callId } = await untilAsked(chat);
  await until(async () => (await pendingActivities(chat)) === 0, 'no activity is held');
  expect(await chat.status()).toMatchObject({ state: 'awaiting-approval' });
  await worker.kill();
  worker = installation.startWorker();
  await worker.ready;
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'asking\na one\n', stderr: '' });
  await chat.close();
}, 180_000);

test('each kind of tool does in code what it is for, and what goes wrong is an exception with the reason', async () => {
  const chat = await start('kinds');
  expect(await chat.reply()).toBe('Done.');
  const [result] = await resultsOf(chat);
  expect(result).toMatchObject({ stderr: '', exitCode: 0 });
  expect(textIn(result, 'stdout').split('\n')).toEqual([
    'bare 3 (key: str, depth: int = 1) Looks something up.',
    'InvalidArguments TOOL_ARGUMENTS_INVALID Arguments of lab:look are not valid: /key: expected string, got number. Correct them and call it again',
    'ToolError TOOL_FAILED lab:fail failed: it broke',
    expect.stringMatching(/^UnknownTool TOOL_NOT_FOUND lab has no tool nothing; it has append, /),
    'ToolDenied TOOL_DENIED Denied by policy: rule 1 of the agent: shell:kill is denied',
    expect.stringMatching(/^ToolError TOO_LARGE lab:long has run, but its result is larger than/),
    'remarked seen 900000',
    '{"outcome": "concluded", "concludedBy": 1}',
    '',
  ]);
  const entries = (await chat.transcript()).map(({ entry }) => entry);
  expect(entries.filter(({ role }) => role === 'tool')).toHaveLength(1);
  expect(entries).toContainEqual({ role: 'note', text: 'lab:remark: remarked seen' });
  await chat.close();
}, 180_000);

test('an agent tool ends the code at its call, and what it told goes to the model', async () => {
  const chat = await start('concludes');
  expect(await chat.reply()).toBe('Done.');
  const entries = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.content] : []));
  const [concluded, drawn, context] = entries;
  expect(concluded).toMatchObject([
    { text: expect.stringContaining('"stdout":"before\\n"') },
    { text: 'The code was ended at its call of lab:search, which answered:' },
    { text: 'found about cats' },
  ]);
  expect(concluded?.[0]).toMatchObject({ text: expect.stringContaining('"status":"concluded"') });
  expect(drawn?.slice(1)).toMatchObject([{ text: expect.stringContaining('lab:draw') }, { text: 'a drawing' }, { type: 'image', data: 'cG5n' }]);
  expect(context?.[0]).toMatchObject({ text: expect.stringContaining('"stdout":"5\\n"') });
  await chat.close();
}, 180_000);

test('calls that wait side by side are approved, edited and denied one by one', async () => {
  const chat = await start('together');
  await until(async () => (await chat.status()).pendingApprovals.length === 5, 'all are asked about');
  const { pendingApprovals } = await chat.status();
  for (const { callId, arguments: given } of pendingApprovals) {
    if (given?.['line'] === '1') await chat.approve({ callId, answer: 'deny', reason: 'not that one' });
    else if (given?.['line'] === 'edit') await chat.approve({ callId, answer: 'allow-once', editedArguments: { line: 'edited' } });
    else await chat.approve({ callId, answer: 'allow-once' });
  }
  expect(await chat.reply()).toBe('Done.');
  const [printed, log] = await resultsOf(chat);
  expect(printed).toMatchObject({ stdout: "['0', 'denied Denied by an operator: not that one', '2', '3', 'edited']\n", stderr: '' });
  expect(log).toMatchObject({ stdout: '0\n2\n3\nedited\n' });
  await chat.close();
}, 180_000);

test('JavaScript, TypeScript, programs of the shell and code called by code reach the same tools', async () => {
  const chat = await start('elsewhere');
  expect(await chat.reply()).toBe('Done.');
  const [javascript, typescript, shell, nested] = await resultsOf(chat);
  expect(javascript).toMatchObject({
    stdout:
      'js id bare\nremarked 1,remarked 2,remarked 3\ntrue TOOL_ARGUMENTS_INVALID Arguments of lab:look are not valid: /key: missing. Correct them and call it again\n',
    stderr: '',
  });
  expect(JSON.stringify(typescript)).toContain('ts');
  expect(shell).toMatchObject({ stdout: 'sh\n', stderr: '' });
  expect(nested).toMatchObject({ stdout: 'deep remarked deep\n\n', stderr: '' });
  await chat.close();
}, 180_000);

test('an approval that is not given in time is an exception in the code', async () => {
  const chat = await start('expires');
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ stdout: 'This call was not approved in time; it was not run.\n' });
  await chat.close();
}, 180_000);

test('while a script waits its sandbox freezes, and is never stopped', async () => {
  const chat = await start('rests');
  const { callId } = await untilAsked(chat);
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'the sandbox is frozen');
  // What is claimed is about time that passes.
  await sleep(1500);
  expect((await chat.status()).sandboxTier).toBe('frozen');
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ stdout: 'x True\n' });
  await chat.close();
}, 180_000);

const where = process.env['LONGSHORE_TEST_GVISOR'] === 'yes';
(where ? test : test.skip)(
  'while a script waits for longer its sandbox is on disk, and the script goes on with its variables',
  async () => {
    const chat = await start('hibernates');
    const { callId } = await untilAsked(chat);
    await until(async () => (await chat.status()).sandboxTier === 'hibernated', 'the sandbox is hibernated');
    await chat.approve({ callId, answer: 'allow-once' });
    expect(await chat.reply()).toBe('Done.');
    expect((await resultsOf(chat))[0]).toMatchObject({ stdout: 'x True\n' });
    await chat.close();
  },
  60_000,
);

test.each([
  ['interrupt', 'running', 'waits'],
  ['cancel', 'frozen', 'freezes'],
  ['close', 'frozen', 'freezes'],
] as const)(
  '%s ends a script that waits in mid-line in a %s sandbox, and withdraws what it asked for',
  async (ending, tier, agentId) => {
    const chat = await start(agentId);
    const { callId } = await untilAsked(chat);
    const container = (await installation.store.sandboxes.ofConversation(chat.id))?.containerName ?? '';
    await until(async () => (await chat.status()).sandboxTier === tier, `the sandbox is ${tier}`);
    expect(await guestProcesses(container)).not.toEqual([]);
    const { turnId } = await chat.send('And then?');
    await chat[ending]();
    const { data } = await untilEvent(chat, (event) => event.type === 'turn.finished' && event.turnId !== turnId);
    expect(data).toEqual({ outcome: ending === 'cancel' ? 'cancelled' : 'interrupted' });
    // An interruption drops no message; the other two do.
    const next = await untilEvent(chat, (event) => event.type === 'turn.finished' && event.turnId === turnId);
    expect(next.data).toMatchObject({ outcome: ending === 'interrupt' ? 'finished' : 'cancelled' });
    await until(async () => (await chat.status()).state === (ending === 'close' ? 'closed' : 'idle'), 'the turn has ended');
    expect((await chat.status()).pendingApprovals).toEqual([]);
    expect(await installation.store.toolCalls.get(callId)).toMatchObject({
      state: 'interrupted',
      content: [{ text: 'The code that made this call ended before an answer about its approval; the call was not run.' }],
    });
    const { data: resolved } = await untilEvent(chat, ({ type }) => type === 'tool.approval-resolved');
    expect(resolved).toMatchObject({ callId, answer: 'deny', reason: 'The turn was ended before an answer.' });
    expect((await resultsOf(chat))[0]).toMatchObject({ isError: true, text: 'Interrupted on request. Its output until then:\nasking\n' });
    const entries = (await chat.transcript()).map(({ entry }) => entry);
    const asked = entries.flatMap((entry) =>
      entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [],
    );
    expect(entries.flatMap((entry) => (entry.role === 'tool' ? [entry.callId] : []))).toEqual(asked);
    if (ending === 'close') {
      await until(async () => !(await installation.containers()).includes(container), 'the container is gone');
      expect((await chat.status()).sandboxTier).toBe('destroyed');
      return;
    }
    expect(await guestProcesses(container)).toEqual([]);
    await chat.close();
  },
  60_000,
);

test('a pause now holds a script that waits, and an approval given meanwhile counts after it', async () => {
  const chat = await start('waits');
  const { callId } = await untilAsked(chat);
  await chat.pause({ mode: 'now' });
  await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await installation.store.toolCalls.get(callId)).toMatchObject({ state: 'proposed' });
  await chat.resume();
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'asking\na one\n' });
  await chat.close();
}, 180_000);

test('a pause now in the midst of calls freezes the code and loses none of them', async () => {
  const chat = await start('busy');
  await untilEvent(chat, ({ type, data }) => type === 'tool.finished' && data['tool'] === 'lab:remark');
  await chat.pause({ mode: 'now' });
  await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'the sandbox is frozen');
  await chat.resume();
  expect(await chat.reply()).toBe('Done.');
  const numbers = Array.from({ length: 20 }, (_, n) => `'${n}'`).join(', ');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: `[${numbers}]\n` });
  await chat.close();
}, 180_000);

test('a pause now while a call that only reads runs does not end that call for its code', async () => {
  const chat = await start('studies');
  await untilEvent(chat, ({ type, data }) => type === 'tool.started' && data['tool'] === 'lab:study');
  await chat.pause({ mode: 'now' });
  await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
  await chat.resume();
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'studied\n' });
  await chat.close();
}, 180_000);

test.each(['a pause', 'the death of its worker'])(
  'a call that only reads has a result when its code is ended after %s',
  async (what) => {
    const chat = await start('studies');
    const { data } = await untilEvent(chat, ({ type, data: told }) => type === 'tool.started' && told['tool'] === 'lab:study');
    if (what === 'a pause') {
      await chat.pause({ mode: 'now' });
      await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
    } else {
      await worker.kill();
      worker = installation.startWorker();
      await worker.ready;
    }
    await chat.interrupt();
    await untilEvent(chat, ({ type }) => type === 'turn.finished');
    expect(await installation.store.toolCalls.get(textIn(data, 'callId'))).toMatchObject({
      state: 'interrupted',
      content: [{ text: 'Interrupted: the code that made this call ended before the call had a result.' }],
    });
    const ends = (await installation.store.events.read(chat.id, 0)).filter(({ type }) => type === 'tool.finished');
    expect(ends.map(({ data: told }) => told['tool'])).toEqual(['lab:study', 'code:run']);
    await chat.close();
  },
  180_000,
);

test('when the container dies under a script that waits, the model is told, its calls keep their results, and nothing is run again', async () => {
  const chat = await start('waits');
  const { callId } = await untilAsked(chat);
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  await runCommand('docker', ['kill', row?.containerName ?? '']);
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ isError: true, text: expect.stringContaining("the sandbox's container died while this command ran") });
  expect(await installation.store.toolCalls.get(callId)).toMatchObject({ state: 'finished', fence: 1 });
  await chat.close();
}, 180_000);
