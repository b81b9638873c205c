import type { Chat, Longshore } from '../../../src/client.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { startApi } from '../../api/support.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';

/** Tools that a client runs, through the client that reaches Postgres and Temporal itself. */
let installation: Installation;
let longshore: Longshore;
const usage = { inputTokens: 80, outputTokens: 20 };
const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const openFile = { description: 'Opens a file.', parameters, output: { type: 'object', properties: { opened: { type: 'boolean' } }, required: ['opened'] } };
const call = { call: 'client:open_file', with: { path: 'a.txt' } };
const said = (text: string) => ({ say: text, usage });
const CODE = `
try:
    print(tools.client.open_file(path="b.txt"))
except Exception as error:
    print("failed:", error)
`;

beforeAll(async () => {
  const agent = (tool: object, ...steps: object[]) => ({ clientTools: { open_file: { ...openFile, ...tool } }, steps: steps as never });
  installation = await installAgents({
    opener: agent({}, { ...call, usage }, said('It is open.')),
    both: agent({}, { calls: [call, { ...call, with: { path: 'b.txt' } }], usage }, said('Both are open.')),
    hasty: agent({ timeout: '1s' }, { ...call, usage }, said('Then not.')),
    strict: agent({ timeout: '1s', otherwise: 'fail' }, { ...call, usage }, said('Never said.')),
    careful: { ...agent({ requireApproval: true }, { ...call, usage }, said('It is open.')), approval: [] },
    denier: { ...agent({}, { ...call, usage }, said('I may not.')), approval: [{ tool: 'client:*', decide: 'deny' }] },
    coder: { ...agent({}, { call: 'code:run', with: { language: 'python', code: CODE }, usage }, said('The code has ended.')), tools: ['code:*'] },
    wrong: agent({}, { call: 'client:open_file', with: { path: 7 }, usage }, said('I see.')),
    short: { ...agent({}, { ...call, usage }, said('It is open.')), budget: { wallTime: '20s' } },
  });
  await installation.startWorker().ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

const start = (agent: string) => longshore.start({ agent, user: 'ann', message: 'Open it.' });

/** The results of the calls of a conversation, as the model reads them. */
async function resultsOf({ id }: Chat): Promise<string[]> {
  const entries = await longshore.transcript(id);
  return entries.flatMap(({ entry }) => (entry.role === 'tool' ? entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : []));
}

async function waitingCall(chat: Chat): Promise<string> {
  const event = await untilEvent(chat, ({ type }) => type === 'tool.waiting');
  if (event.type !== 'tool.waiting') throw new Error('another event');
  return event.data.callId;
}

test('a client that has the conversation open runs the tool, and its result is that of the call', async () => {
  await using chat = await start('opener');
  const given: unknown[] = [];
  const serving = chat.tools({ open_file: async (input, { callId }) => (given.push(input, callId), { opened: true }) });
  expect(await chat.reply()).toBe('It is open.');
  expect(given).toEqual([{ path: 'a.txt' }, expect.stringMatching(/^call_/)]);
  expect(await resultsOf(chat)).toEqual(['{"opened":true}']);
  await chat.close();
  await serving;
}, 60_000);

test('a client that comes later takes a call that waits; the status, the log and the list of calls name it until then', async () => {
  await using chat = await start('opener');
  const callId = await waitingCall(chat);
  const { waitingCalls, runningCalls, workedMs } = await chat.status();
  expect(waitingCalls).toEqual([{ callId, tool: 'client:open_file', expiresAtMs: expect.any(Number) as number }]);
  expect(runningCalls).toEqual([]);
  const { calls } = await longshore.waitingCalls(chat);
  expect(calls).toEqual([{ callId, name: 'open_file', askedAt: expect.any(String) as string, deadline: expect.any(String) as string }]);
  const late = await longshore.chat(chat.id);
  const stop = new AbortController();
  const serving = late.tools({ open_file: () => ({ opened: true }) }, { signal: stop.signal });
  expect(await chat.reply()).toBe('It is open.');
  stop.abort();
  await serving;
  const status = await chat.status();
  expect(status.waitingCalls).toBeUndefined();
  expect(status.workedMs - workedMs).toBeLessThan(30_000);
  await chat.close();
}, 60_000);

test('of several clients, one runs a call', async () => {
  await using chat = await start('both');
  const runs: unknown[] = [];
  const tabs = await Promise.all(Array.from({ length: 4 }, () => longshore.chat(chat.id)));
  const serving = tabs.map((tab) => tab.tools({ open_file: async (input) => (runs.push(input['path']), { opened: true }) }));
  expect(await chat.reply()).toBe('Both are open.');
  expect(new Set(runs)).toEqual(new Set(['a.txt', 'b.txt']));
  expect(runs).toHaveLength(2);
  await chat.close();
  await Promise.all(serving);
}, 60_000);

test('an error of a handler, and a result that its schema forbids, are failed results', async () => {
  await using chat = await start('both');
  let runs = 0;
  const serving = chat.tools({
    open_file() {
      runs += 1;
      if (runs === 1) throw new Error('no such file');
      return { opened: 'perhaps' };
    },
  });
  expect(await chat.reply()).toBe('Both are open.');
  const results = await resultsOf(chat);
  expect(results).toContain('no such file');
  expect(results.filter((text) => text.includes('is not what its tool declares: /opened'))).toHaveLength(1);
  await chat.close();
  await serving;
}, 60_000);

test('a result that is too large is a failed result, in this process and over HTTP', async () => {
  await using service = await startApi(installation);
  await using remote = await service.connect(['conversations:read', 'conversations:write'], 'default');
  for (const client of [longshore, remote]) {
    const chat = await client.start({ agent: 'opener', user: 'ann', message: 'Open it.' });
    const serving = chat.tools({ open_file: () => 'x'.repeat(2_500_000) });
    expect(await chat.reply()).toBe('It is open.');
    expect(await resultsOf(chat)).toEqual([expect.stringContaining('2500010 bytes') as string]);
    await chat.close();
    await serving;
  }
}, 60_000);

test('the same result may be given again, another one is refused, and one that comes too late', async () => {
  await using chat = await start('opener');
  const callId = await waitingCall(chat);
  const good = { callId, result: { opened: true } };
  await expect(longshore.giveResult(chat, { callId, result: { opened: 1 } })).rejects.toMatchObject({ code: 'CLIENT_RESULT_INVALID' });
  await expect(longshore.giveResult(chat, { callId, result: 'x'.repeat(1_000_001) })).rejects.toMatchObject({ code: 'CLIENT_RESULT_TOO_LARGE' });
  await expect(longshore.giveResult('conv_other', good)).rejects.toMatchObject({ code: 'CLIENT_CALL_NOT_FOUND' });
  await longshore.giveResult(chat, good);
  await longshore.giveResult(chat, good);
  expect(await chat.reply()).toBe('It is open.');
  await longshore.giveResult(chat, good);
  await expect(longshore.giveResult(chat, { callId, result: { opened: false } })).rejects.toThrow(failure('CLIENT_RESULT_DIFFERENT', { callId }).message);
  expect(await resultsOf(chat)).toEqual(['{"opened":true}']);
  await expect(longshore.claimCall(chat, { callId, holder: 'a' })).rejects.toMatchObject({ code: 'CLIENT_CALL_ENDED' });
  await chat.close();
}, 60_000);

test('a result whose client died before it told anybody of it is found after some seconds', async () => {
  await using chat = await start('opener');
  const callId = await waitingCall(chat);
  const { clientCalls } = installation.store;
  await clientCalls.claim(callId, 'dead', 60_000);
  expect(await clientCalls.answer(callId, 'dead', { result: { opened: true }, isError: false, digest: Buffer.from('digest') })).toBe(true);
  expect(await chat.reply()).toBe('It is open.');
  expect(await resultsOf(chat)).toEqual(['{"opened":true}']);
}, 60_000);

test('when no result comes in time, the model is told what is known', async () => {
  await using chat = await start('hasty');
  expect(await chat.reply()).toBe('Then not.');
  expect(await resultsOf(chat)).toEqual(['No client that has client:open_file was there within 1 s; it was not run. Go on without it.']);
  await using other = await start('hasty');
  const callId = await waitingCall(other);
  await longshore.claimCall(other, { callId, holder: 'a' });
  expect(await other.reply()).toBe('Then not.');
  expect(await resultsOf(other)).toEqual(['A client took this call and gave no result within 1 s; it is not known what of it was done. Go on without it.']);
  await expect(longshore.giveResult(other, { callId, result: { opened: true }, holder: 'a' })).rejects.toMatchObject({ code: 'CLIENT_CALL_ENDED' });
  await Promise.all([chat.close(), other.close()]);
}, 60_000);

test('where the agent says so, the turn fails when no result comes in time, and the conversation goes on', async () => {
  await using chat = await start('strict');
  await expect(chat.reply()).rejects.toThrow("client:open_file had no result within 1 s, and the agent's file says that the turn fails then.");
  expect((await chat.status()).state).toBe('idle');
  await chat.close();
}, 60_000);

test('an interrupted turn takes the call back, and its client is told', async () => {
  await using chat = await start('opener');
  const aborted = new Promise<void>((resolve) => {
    void chat.tools({
      open_file: (_input, { signal }) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => (resolve(), reject(new Error('stopped'))));
        }),
    });
  });
  const callId = await waitingCall(chat);
  await until(async () => (await longshore.waitingCalls(chat)).calls[0]?.heldUntil !== undefined, 'the client has the call');
  await chat.interrupt();
  await aborted;
  await untilEvent(chat, ({ type }) => type === 'turn.finished');
  expect(await resultsOf(chat)).toEqual([
    'Interrupted: the turn was ended before this call had a result. A client had taken it; it is not known what of it was done.',
  ]);
  await expect(longshore.giveResult(chat, { callId, result: { opened: true } })).rejects.toMatchObject({ code: 'CLIENT_CALL_ENDED' });
  await chat.close();
}, 60_000);

test('a client that stops gives its call back, and the next one takes it at once', async () => {
  await using chat = await start('opener');
  const stop = new AbortController();
  const first = chat.tools(
    { open_file: (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))) },
    { signal: stop.signal },
  );
  await until(async () => (await longshore.waitingCalls(chat)).calls[0]?.heldUntil !== undefined, 'the client has the call');
  stop.abort();
  await first;
  expect((await longshore.waitingCalls(chat)).calls[0]?.heldUntil).toBeUndefined();
  const second = chat.tools({ open_file: () => ({ opened: true }) });
  expect(await chat.reply()).toBe('It is open.');
  await chat.close();
  await second;
}, 60_000);

test('a result that is given during a pause counts when the conversation goes on', async () => {
  await using chat = await start('opener');
  const callId = await waitingCall(chat);
  await chat.pause({ mode: 'now' });
  await untilEvent(chat, ({ type }) => type === 'conversation.paused');
  await longshore.giveResult(chat, { callId, result: { opened: true } });
  await chat.resume();
  expect(await chat.reply()).toBe('It is open.');
  await chat.close();
}, 60_000);

test('the rules of approval hold: a call waits for a person first, and one that is denied reaches no client', async () => {
  await using chat = await start('careful');
  const asked = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  expect((await longshore.waitingCalls(chat)).calls).toEqual([]);
  if (asked.type !== 'tool.approval-requested') throw new Error('another event');
  await chat.approve({ callId: asked.data.callId, answer: 'allow-once', editedArguments: { path: 'other.txt' } });
  await waitingCall(chat);
  expect((await longshore.claimCall(chat, { callId: asked.data.callId, holder: 'a' })).arguments).toEqual({ path: 'other.txt' });
  await longshore.giveResult(chat, { callId: asked.data.callId, result: { opened: true }, holder: 'a' });
  expect(await chat.reply()).toBe('It is open.');
  await using denied = await start('denier');
  expect(await denied.reply()).toBe('I may not.');
  expect((await resultsOf(denied))[0]).toMatch(/^Denied by policy/);
  await Promise.all([chat.close(), denied.close()]);
}, 60_000);

test('code in the sandbox calls the tool too, and waits for the client', async () => {
  await using chat = await start('coder');
  const serving = chat.tools({ open_file: (input) => ({ opened: input['path'] === 'b.txt' }) });
  expect(await chat.reply()).toBe('The code has ended.');
  expect((await resultsOf(chat)).join('\n')).toContain("{'opened': True}");
  await chat.close();
  await serving;
}, 120_000);

test('arguments that do not fit reach no client', async () => {
  await using chat = await start('wrong');
  expect(await chat.reply()).toBe('I see.');
  expect((await resultsOf(chat))[0]).toMatch(/^Arguments of client:open_file are not valid: \/path/);
  await chat.close();
}, 60_000);
