import { z } from 'zod';
import { connect, isFailure, type Chat } from '../../../src/client.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { startApi } from '../../api/support.ts';
import { installAgents, type Installation } from '../support.ts';

const Tide = z.object({ high: z.string(), metres: z.number().min(0).default(1) });
const output = { type: 'object', properties: { high: { type: 'string' } }, required: ['high'] };
const LARGE = 'x'.repeat(20_000);

let installation: Installation;
beforeAll(async () => {
  installation = await installAgents({
    tides: { output, steps: [{ say: '{"high": "12:04"}' }, { say: '{"high": "12:49"}' }] },
    words: { steps: [{ say: 'It is high at noon.' }, { say: '```json\n{"high": "13:30"}\n```' }, { say: 'Good bye.' }] },
    stubborn: { output, steps: [{ say: 'At noon.' }, { say: 'I said: at noon.' }] },
    large: { output, steps: [{ say: JSON.stringify({ high: LARGE }) }] },
    parent: {
      agents: { tides: { agent: 'tides', description: 'Knows tides.', budget: { tokens: 10_000 } } },
      steps: [{ call: 'agents:run', with: { agent: 'tides', task: 'High?' }, expect: { high: '12:04' } }, { say: 'At 12:04.' }],
    },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (agent: string, more: object = {}) => installation.longshore.start({ agent, user: 'user-1', message: 'High tide?', ...more });
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'no error',
    (error: unknown) => (isFailure(error) ? error.code : String(error)),
  );

async function endOf(chat: Chat): Promise<JsonObject | undefined> {
  let end: JsonObject | undefined;
  const stop = new AbortController();
  for await (const { type, data } of chat.events({ signal: stop.signal })) {
    if (type !== 'turn.finished') continue;
    end = data;
    stop.abort();
  }
  return end;
}

test('the answer of an agent with an output is a value: typed by zod, as it is, and in the event', async () => {
  const chat = await start('tides');
  expect(await chat.answer(Tide)).toEqual({ high: '12:04', metres: 1 });
  expect(await chat.answer()).toEqual({ high: '12:04' });
  expect(await chat.reply()).toBe('{"high": "12:04"}');
  expect(await endOf(chat)).toEqual({ outcome: 'finished', output: { high: '12:04' } });
  expect(await codeOf(chat.answer(z.object({ high: z.number() })))).toBe('ANSWER_INVALID');
  await chat.close();
});

test('a message has a schema of its own, its answer is repaired once, and the next message has none', async () => {
  const chat = await start('words', { output: Tide });
  expect(await chat.answer(Tide)).toEqual({ high: '13:30', metres: 1 });
  const told = (await chat.transcript()).map(({ entry }) => entry.role);
  expect(told).toEqual(['user', 'assistant', 'note', 'assistant']);
  expect((await chat.status()).stepsUsed).toBe(0);
  const next = await chat.send('Thanks.');
  expect(await chat.reply(next.turnId)).toBe('Good bye.');
  expect(await codeOf(chat.answer(Tide, next.turnId))).toBe('ANSWER_INVALID');
  await chat.close();
});

test('a turn whose answer never fits fails and says what is wrong; its text is kept', async () => {
  const chat = await start('stubborn');
  const failed = await chat.answer(Tide).catch((error: Error) => error.message);
  expect(failed).toMatch(/^Turn turn_\S+ ended as failed: The answer of the agent does not fit the schema of its output: it is no JSON value \(.*\)\. /);
  const said = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'assistant' ? entry.parts : []));
  expect(said).toEqual([
    { type: 'text', text: 'At noon.' },
    { type: 'text', text: 'I said: at noon.' },
  ]);
  await chat.close();
});

test('a large answer is read from the transcript, and its event has the size', async () => {
  const chat = await start('large');
  expect(await chat.answer()).toEqual({ high: LARGE });
  expect(await endOf(chat)).toEqual({ outcome: 'finished', outputCharacters: LARGE.length + 11 });
  await chat.close();
});

test('an agent that gives a task gets the answer as a value', async () => {
  const chat = await start('parent');
  expect(await chat.reply()).toBe('At 12:04.');
  await chat.close();
});

test.each<[string, unknown, RegExp]>([
  ['nested too deeply', nested(300), /^"output" cannot be used: it is not a valid JSON Schema \(it is nested deeper than 200 levels\)/],
  ['too large', { enum: Array.from({ length: 20_000 }, (_, index) => index) }, /^options of start\.output: it has \d+ characters as JSON\. Give up to 65536$/],
  ['a pattern that is none', { type: 'string', pattern: '(' }, /^"output" cannot be used: it is not a valid JSON Schema \(/],
  ['a pattern that is too long', { type: 'string', pattern: 'a'.repeat(20_000) }, /has 20000 characters, and may have 10000/],
  ['a reference to elsewhere', { $ref: 'https://example.com/a.json' }, /references to other documents are not fetched/],
  ['no schema', { type: 'tide' }, /^"output" cannot be used/],
  ['a type of zod that JSON lacks', z.date(), /^options of start\.output: it cannot be written as JSON Schema \(/],
  ['a text', 'object', /^options of start\.output: /],
])('a schema is refused before anything is stored: %s', async (_what, given, message) => {
  const before = (await installation.longshore.list()).length;
  const refusal = await start('words', { output: given }).catch((error: Error) => error.message);
  expect(refusal).toMatch(message);
  expect((await installation.longshore.list()).length).toBe(before);
});

test('over HTTP, a message has a schema, and the answer of a request that waits has the value', async () => {
  await using service = await startApi(installation);
  const headers = { ...(await service.key()), 'content-type': 'application/json' };
  const post = (path: string, body: object, more = {}) =>
    fetch(`${service.url}${path}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const asked = { agent: 'words', user: 'user-1', message: 'High tide?', output };
  const once = { 'idempotency-key': 'tide-1' };
  const first = await post('/v1/conversations?wait=60', asked, once);
  expect(first.status).toBe(201);
  const { conversationId, turn } = (await first.json()) as { conversationId: string; turn: JsonObject };
  expect(turn).toMatchObject({ outcome: 'finished', output: { high: '13:30' } });
  expect((await post('/v1/conversations?wait=60', asked, once)).status).toBe(201);
  const other = await post('/v1/conversations?wait=60', { ...asked, output: { type: 'object' } }, once);
  expect(await other.json()).toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
  const refused = await post(`/v1/conversations/${conversationId}/messages`, { message: 'Again', output: { type: 'tide' } });
  expect([refused.status, ((await refused.json()) as JsonObject)['code']]).toEqual([400, 'OUTPUT_INVALID']);

  await using remote = await connect({ url: service.url, apiKey: (await service.key()).authorization.slice('Bearer '.length) });
  const chat = await remote.start({ agent: 'words', user: 'user-1', message: 'High tide?', output: Tide });
  expect(await chat.answer(Tide)).toEqual({ high: '13:30', metres: 1 });
  await Promise.all([chat.close(), remote.close(conversationId)]);
});

function nested(levels: number): JsonObject {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = { not: schema };
  return schema;
}
