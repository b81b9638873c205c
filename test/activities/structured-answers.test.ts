import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createCallModel } from '../../src/activities/call-model.ts';
import { createFinishTurn } from '../../src/activities/finish-turn.ts';
import type { CallModelArgs, CallModelResult, FinishTurnArgs } from '../../src/contracts/activities.ts';
import type { ConversationStatus } from '../../src/contracts/conversation.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeAgent, silentLog } from '../models/support.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';

const output: JsonObject = { type: 'object', properties: { high: { type: 'string' } }, required: ['high'], additionalProperties: false };
const agent = { ...makeAgent('scripted/none.yaml'), tools: [], output };

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log: silentLog });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

let count = 0;
async function begin(more: Partial<CallModelArgs> = {}): Promise<CallModelArgs> {
  const conversationId = `conv_${++count}`;
  const counts = { queued: 0, turnsUsed: 0, stepsUsed: 0, tokensUsed: 0, workedMs: 0 };
  const owner = { conversationId, agentId: agent.id, userId: 'u', tenantId: 't', state: 'running' as const };
  const status: ConversationStatus = { ...owner, ...counts, sandboxTier: 'none', pendingApprovals: [], runningCalls: [] };
  await store.conversations.create({ ...owner, status });
  await store.transcript.append(conversationId, 'turn_1', undefined, 'msg_1', { role: 'user', content: [{ type: 'text', text: 'Hello' }] });
  return { conversationId, agentId: agent.id, turnId: 'turn_1', stepId: `step_${count}a`, step: 0, userId: 'u', tenantId: 't', ...more };
}

function saying(text: string): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    async answer(request) {
      asked.push(request);
      return { parts: [{ type: 'text', text }], usage: { inputTokens: 3, outputTokens: 4 } };
    },
  };
}

function ask(model: Model, args: CallModelArgs, attempt = 1): Promise<CallModelResult> {
  const environment = new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });
  const opened = { ifAwake: async () => undefined };
  const models = { get: () => model, isPriced: () => true };
  const callModel = createCallModel({ store, registry: createRegistry([]), agents: new Map([[agent.id, agent]]), models, log: silentLog, opened });
  return environment.run<[CallModelArgs], CallModelResult, typeof callModel>(callModel, args);
}

const notesOf = async ({ conversationId }: CallModelArgs) =>
  (await store.transcript.read(conversationId)).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
const refusalsOf = async ({ conversationId }: CallModelArgs) =>
  (await store.events.read(conversationId, 0)).flatMap((event) => (event.type === 'answer.refused' ? [event.data.problems] : []));

const MISSING = '/high: missing';
const REPAIR = `The answer does not fit the JSON Schema: ${MISSING}. Answer again, with one JSON value that fits and nothing else.`;

test('the model is told the schema, and an answer that fits is said to', async () => {
  const model = saying('{"high": "12:04"}');
  const args = await begin();
  expect(await ask(model, args)).toMatchObject({ outcome: 'answered', answer: { outcome: 'fits' } });
  expect(model.asked[0]?.output).toEqual(output);
  expect(model.asked[0]?.instructions).toBe(
    `Be brief.\n\nWhen you have done all that is asked of you, answer with one JSON value that fits this JSON Schema, and with nothing else:\n${JSON.stringify(output)}`,
  );
  expect(await notesOf(args)).toEqual([]);
});

test('the schema of the message takes the place of that of the agent', async () => {
  const args = await begin({ outputOf: 'msg_2' });
  await store.messages.put(args.conversationId, 'msg_2', 'Hi', { output: { type: 'array', items: { type: 'number' } } });
  const model = saying('[1, "2"]');
  expect(await ask(model, args)).toMatchObject({ answer: { outcome: 'refused', message: expect.stringContaining('/1: expected number, got string') } });
  expect(model.asked[0]?.output).toEqual({ type: 'array', items: { type: 'number' } });
});

test('what is wrong is noted for the model and for readers, once, whatever attempt does it', async () => {
  const args = await begin();
  const model = saying('{}');
  const first = await ask(model, args);
  expect(await ask(model, args, 2)).toEqual(first);
  expect(model.asked).toHaveLength(1);
  expect(first).toMatchObject({
    answer: {
      outcome: 'refused',
      message: `The answer of the agent does not fit the schema of its output: ${MISSING}. The transcript has its text; ask again, or correct the schema.`,
    },
  });
  expect(await notesOf(args)).toEqual([REPAIR]);
  expect(await refusalsOf(args)).toEqual([MISSING]);
});

test('after a repair, the model is not asked again', async () => {
  const args = await begin({ repairs: true });
  expect(await ask(saying('no JSON'), args)).toMatchObject({ answer: { outcome: 'refused' } });
  expect(await notesOf(args)).toEqual([]);
  expect(await refusalsOf(args)).toHaveLength(1);
});

test.each([
  ['nested too deeply', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'its JSON is nested more than 500 levels deep'],
  ['a key that changes prototypes', '{"__proto__": {"high": "1"}}', '/__proto__: this key is not accepted'],
  ['characters that change a terminal', '{"high": "1", "\\u001b[2J": 1}', '/\\u001b[2J: not known (known: high)'],
])('an answer that is hostile is refused: %s', async (_what, text, problem) => {
  const args = await begin();
  expect(await ask(saying(text), args)).toMatchObject({ answer: { outcome: 'refused' } });
  expect(await refusalsOf(args)).toEqual([problem]);
});

test('a schema whose check takes too long refuses the answer, and the worker goes on', async () => {
  const args = await begin({ outputOf: 'msg_2' });
  await store.messages.put(args.conversationId, 'msg_2', 'Hi', { output: { type: 'string', pattern: '^(a+)+$' } });
  expect(await ask(saying(JSON.stringify(`${'a'.repeat(60)}!`)), args)).toMatchObject({
    answer: { outcome: 'refused', message: expect.stringContaining('cannot be checked') },
  });
});

test.each([
  ['small', '12:04', { output: { high: '12:04' } }],
  ['large', 'x'.repeat(20_000), { outputCharacters: 20_011 }],
])('the end of a turn has the value of a %s answer, or its size', async (_what, high, data) => {
  const args = await begin();
  await ask(saying(`\`\`\`json\n${JSON.stringify({ high })}\n\`\`\``), args);
  const row = await store.conversations.get(args.conversationId);
  if (!row) throw new Error('there is no row');
  const finishTurn = createFinishTurn({ store, desk: { leave: async () => undefined } });
  const end: FinishTurnArgs = { conversationId: args.conversationId, turnId: 'turn_1', outcome: 'finished', answeredIn: args.stepId, status: row.status };
  await new MockActivityEnvironment().run<[FinishTurnArgs], void, typeof finishTurn>(finishTurn, end);
  const events = await store.events.read(args.conversationId, 0);
  expect(events.at(-1)).toMatchObject({ type: 'turn.finished', data: { outcome: 'finished', ...data } });
  expect(Object.keys(events.at(-1)?.data ?? {}).toSorted()).toEqual(['outcome', ...Object.keys(data)].toSorted());
});
