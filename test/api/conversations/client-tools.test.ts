import { connect, type Longshore } from '../../../src/client.ts';
import { install, until, untilEvent, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';

/** Tools of clients over HTTP. */
let installation: Installation;
let service: TestApi;
let remote: Longshore;
let headers: { authorization: string };
beforeAll(async () => {
  const output = { type: 'object', properties: { opened: { type: 'boolean' } }, required: ['opened'] };
  const clientTools = { open_file: { description: 'Opens a file.', parameters: { type: 'object', properties: { path: { type: 'string' } } }, output } };
  installation = await install([{ call: 'client:open_file', with: { path: 'a.txt' } }, { say: 'It is open.' }], { clientTools });
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = await service.key(['conversations:read', 'conversations:write']);
  remote = await connect({ url: service.url, apiKey: headers.authorization.slice('Bearer '.length) });
}, 180_000);
afterAll(async () => {
  await remote[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

const start = () => remote.start({ agent: 'scripted', user: 'ann', message: 'Open it.' });

async function ask(path: string, body?: object, as = headers): Promise<{ status: number; answer: Record<string, unknown> }> {
  const sent = await fetch(`${service.url}/v1/conversations/${path}`, {
    headers: { ...as, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: sent.status, answer: (await sent.json()) as Record<string, unknown> };
}

async function waitingCall(conversationId: string): Promise<string> {
  const event = await untilEvent(await remote.chat(conversationId), ({ type }) => type === 'tool.waiting');
  if (event.type !== 'tool.waiting') throw new Error('another event');
  return event.data.callId;
}

test('one of several clients, of both transports, runs a call', async () => {
  await using chat = await start();
  const near = await installation.longshore.chat(chat.id);
  let runs = 0;
  const handlers = { open_file: ({ path }: Record<string, unknown>) => ((runs += 1), { opened: path === 'a.txt' }) };
  const serving = [chat.tools(handlers), near.tools(handlers)];
  expect(await chat.reply()).toBe('It is open.');
  expect(runs).toBe(1);
  await chat.close();
  await Promise.all(serving);
}, 60_000);

test('a page takes a call, has it for longer, gives it back, and gives its result; others are refused meanwhile', async () => {
  await using chat = await start();
  const callId = await waitingCall(chat.id);
  const at = `${chat.id}/tools/${callId}`;
  expect(await ask(`${chat.id}/tools`)).toMatchObject({ status: 200, answer: { calls: [{ callId, name: 'open_file' }] } });
  const first = await ask(`${at}/claim`, { holder: 'a' });
  expect(first).toMatchObject({ status: 200, answer: { callId, name: 'open_file', arguments: { path: 'a.txt' } } });
  expect(await ask(`${at}/claim`, { holder: 'b' })).toMatchObject({
    status: 409,
    answer: { code: 'CLIENT_CALL_TAKEN', retryable: true, values: { until: first.answer['heldUntil'] } },
  });
  const longer = await ask(`${at}/claim`, { holder: 'a', leaseMs: 120_000 });
  expect(Date.parse(String(longer.answer['heldUntil']))).toBeGreaterThan(Date.parse(String(first.answer['heldUntil'])));
  expect((await ask(`${at}/result`, { result: { opened: true }, holder: 'b' })).answer['code']).toBe('CLIENT_CALL_TAKEN');
  expect((await ask(`${at}/claim`, { holder: 'a', leaseMs: 0 })).answer['heldUntil']).toBeUndefined();
  expect((await ask(`${at}/claim`, { holder: 'b' })).status).toBe(200);
  expect(await ask(`${at}/result`, { result: { opened: 'yes' }, holder: 'b' })).toMatchObject({ status: 422, answer: { code: 'CLIENT_RESULT_INVALID' } });
  expect(await ask(`${at}/result`, { result: 'x'.repeat(1_500_000), holder: 'b' })).toMatchObject({ status: 413, answer: { code: 'CLIENT_RESULT_TOO_LARGE' } });
  expect(await ask(`${at}/result`, { result: { opened: true }, holder: 'b' })).toEqual({ status: 200, answer: { accepted: true } });
  expect(await ask(`${at}/result`, { result: { opened: true }, holder: 'b' })).toEqual({ status: 200, answer: { accepted: true } });
  expect(await ask(`${at}/result`, { result: { opened: false }, holder: 'b' })).toMatchObject({ status: 409, answer: { code: 'CLIENT_RESULT_DIFFERENT' } });
  expect(await chat.reply()).toBe('It is open.');
  await chat.close();
}, 60_000);

test('a key needs the scope, and finds the calls of its own tenant alone', async () => {
  await using chat = await start();
  const callId = await waitingCall(chat.id);
  const at = `${chat.id}/tools/${callId}`;
  const reader = await service.key(['conversations:read']);
  const stranger = await service.key(['conversations:read', 'conversations:write'], 'another');
  expect((await ask(`${at}/claim`, { holder: 'a' }, reader)).status).toBe(403);
  expect((await ask(`${at}/result`, { result: {} }, reader)).status).toBe(403);
  for (const [path, body] of [
    [`${chat.id}/tools`, undefined],
    [`${at}/claim`, { holder: 'a' }],
    [`${at}/result`, { result: { opened: true } }],
  ] as const) {
    expect(await ask(path, body, stranger)).toMatchObject({ status: 404, answer: { code: 'CONVERSATION_NOT_FOUND' } });
  }
  const own = await service.key(['conversations:read', 'conversations:write'], 'default');
  expect(await ask(`${at}/result`, { result: { opened: true } }, own)).toMatchObject({ status: 200 });
  expect(await chat.reply()).toBe('It is open.');
  await using other = await start();
  // The id of a call alone leads to no conversation.
  expect(await ask(`${other.id}/tools/${callId}/result`, { result: { opened: true } })).toMatchObject({
    status: 404,
    answer: { code: 'CLIENT_CALL_NOT_FOUND' },
  });
  await Promise.all([chat.close(), other.close()]);
}, 60_000);

test('any process of the service takes the result', async () => {
  await using chat = await start();
  const callId = await waitingCall(chat.id);
  await using second = await startApi(installation);
  await using there = await connect({ url: second.url, apiKey: headers.authorization.slice('Bearer '.length) });
  await there.giveResult(chat.id, { callId, result: { opened: true } });
  expect(await chat.reply()).toBe('It is open.');
  await until(async () => (await chat.status()).waitingCalls === undefined, 'no call waits');
  await chat.close();
}, 60_000);
