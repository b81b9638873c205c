import { pino } from 'pino';
import { MethodDesk } from '../../../src/tool-calls/run/method-desk.ts';
import type { DeskParts } from '../../../src/tool-calls/run/methods/desk-parts.ts';
import { deferred } from '../../../src/common/deferred.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { definePlugin, defineTool } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { callOfCode } from '../../../src/contracts/call-ids.ts';
import type { ModelQuestion } from '../../../src/plugins/api/server-question.ts';
import type { MethodAnswer, MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';

const FORM = { message: 'Who are you?', requestedSchema: { type: 'object', properties: {} } };
const SAMPLED = { messages: [{ role: 'user', content: { type: 'text', text: 'How high?' } }], maxTokens: 50 };
const CALL = { execId: 'call_1-1', number: 1, repeated: true } as MethodCall;

const asked: ModelQuestion[] = [];
const hosts = (signal: AbortSignal) => () => ({
  askModel: async (question: ModelQuestion) => {
    asked.push(question);
    if (question.messages[0]?.text === 'wait') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (question.messages[0]?.text === 'fail') throw new Error('the budget of cost of the conversation is used up');
    return { text: 'Very high.', reasoning: '', calls: [], usage: { inputTokens: 1, outputTokens: 1 } };
  },
  modelName: 'harbour/large',
  saidSoFar: async () => [],
});

/** A desk whose code has made one call that the ledger has a result for. */
function deskWith(state: 'interrupted' | 'failed' | 'finished' | 'denied', ofRow: object = {}, more: Partial<DeskParts> = {}) {
  const callId = callOfCode(CALL.execId, CALL.number);
  const row = { callId, tool: 'lab:wait', state, isError: true, content: [{ type: 'text', text: 'It ended.' }], ...ofRow };
  const store = { toolCalls: { get: async () => row } };
  const parts = { args: { callId: 'call_1', openMethods: [callId] }, store, registry: { get: () => undefined }, awaited: new Map(), agents: new Map() };
  const answers: MethodAnswer[] = [];
  const answerMethod = async (_execId: string, _number: number, answer: MethodAnswer) => void answers.push(answer);
  const handle = { answerMethod, holdMethod: async (_execId: string, number: number) => number } as unknown as WorkerHandle;
  const desk = new MethodDesk({ ...parts, ...more, hosts, log: pino({ level: 'silent' }) } as unknown as DeskParts);
  return { desk, answers, handle };
}
/** A desk whose code calls a tool that only reads, unless `annotations` say otherwise. */
function deskOfReader(runAtOnce: NonNullable<DeskParts['runAtOnce']>, annotations = { readOnlyHint: true }) {
  const look = defineTool({
    id: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    annotations,
    execute: async () => 'seen',
  });
  const registry = createRegistry([definePlugin({ id: 'lab', tools: [look] })]);
  const agent = { id: 'agent', tools: ['lab:*'], requireApproval: {}, approval: [{ tool: '*', decide: 'allow' }] } as unknown as Agent;
  const args = { callId: 'call_1', agentId: 'agent', openMethods: [] } as unknown as DeskParts['args'];
  const store = {
    toolCalls: { get: async () => undefined, proposeMethod: async () => true },
    conversations: { get: async () => undefined },
  } as unknown as DeskParts['store'];
  return deskWith('finished', {}, { args, store, registry, agents: new Map([['agent', agent]]), runAtOnce });
}
/** The same, and the desk has that call. */
function deskThatTook(state: 'interrupted' | 'failed') {
  const { desk, answers, handle } = deskWith(state);
  desk.take(handle, CALL);
  return { desk, answers };
}

beforeEach(() => {
  import.meta.jest.useFakeTimers();
  asked.length = 0;
});
afterEach(() => import.meta.jest.useRealTimers());

test('a call that failed is answered at once', async () => {
  const { desk, answers } = deskThatTook('failed');
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(answers).toEqual([{ error: { code: 'TOOL_FAILED', message: 'It ended.' } }]);
  desk[Symbol.dispose]();
});

test('that a call was interrupted is told only to code that outlives the interruption', async () => {
  const { desk, answers } = deskThatTook('interrupted');
  let suspended = false;
  void desk.suspended.then(() => (suspended = true));
  await import.meta.jest.advanceTimersByTimeAsync(9_000);
  expect({ answers, suspended }).toEqual({ answers: [], suspended: false });
  await import.meta.jest.advanceTimersByTimeAsync(1_000);
  expect(answers).toEqual([{ error: { code: 'INTERRUPTED', message: 'It ended.' } }]);
  desk[Symbol.dispose]();
});

test('code that was ended by the interruption is told nothing', async () => {
  const { desk, answers } = deskThatTook('interrupted');
  await import.meta.jest.advanceTimersByTimeAsync(1_000);
  desk[Symbol.dispose]();
  await import.meta.jest.advanceTimersByTimeAsync(60_000);
  expect(answers).toEqual([]);
});

test.each([
  ['calls a tool', { tool: 'shell:run' }, 'NOT_ALLOWED', 'An MCP server cannot call the tools of the conversation.'],
  ['asks the model', { tool: 'sampling/createMessage', arguments: SAMPLED }, 'NOT_ALLOWED', 'An MCP server cannot call the tools of the conversation.'],
  ['asks what is no question', { tool: 'elicitation/create' }, 'MALFORMED', 'it is neither a form of texts, numbers, truth values and choices nor a url'],
])('what comes in the name of a server and %s is refused', async (_what, given, code, message) => {
  const { desk, answers, handle } = deskWith('failed');
  desk.ask({ server: 'far' }, handle, { ...CALL, repeated: false, arguments: {}, ...given });
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(answers).toEqual([{ error: { code, message } }]);
  desk[Symbol.dispose]();
});

const sampling = (text: string, repeated = false): MethodCall => {
  return { ...CALL, tool: 'sampling/createMessage', arguments: { ...SAMPLED, messages: [{ role: 'user', content: { type: 'text', text } }] }, repeated };
};
const ANSWER = { ok: { role: 'assistant', content: { type: 'text', text: 'Very high.' }, model: 'harbour/large' } };

test.each<[string, MethodAnswer]>([
  ['How high?', ANSWER],
  ['fail', { error: { code: 'TOOL_FAILED', message: 'the budget of cost of the conversation is used up' } }],
])('a server that may ask the model is told its answer, or why there is none: %s', async (text, answer) => {
  const { desk, answers, handle } = deskWith('failed');
  desk.ask({ server: 'far', sampling: 'allow' }, handle, sampling(text));
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(asked).toEqual([{ messages: [{ role: 'user', text }], tools: [], maxOutputTokens: 50 }]);
  expect(answers).toEqual([answer]);
  desk[Symbol.dispose]();
});

test.each<['finished' | 'denied' | 'failed', number, MethodAnswer]>([
  ['finished', 1, ANSWER],
  ['denied', 0, { error: { code: 'REFUSED', message: 'a person has refused to let the model be asked' } }],
  ['failed', 0, { error: { code: 'REFUSED', message: 'no person has allowed it' } }],
])('the model is asked once a person has allowed it: %s', async (state, times, answer) => {
  const { desk, answers, handle } = deskWith(state, { tool: 'far:elicitation/create', arguments: { schema: {}, answer: {} } });
  desk.ask({ server: 'far', sampling: 'ask' }, handle, sampling('How high?', true));
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(asked).toHaveLength(times);
  expect(answers).toEqual([answer]);
  desk[Symbol.dispose]();
});

test('a server asks persons no more than 20 times during a call', async () => {
  const { desk, answers, handle } = deskWith('failed', {}, { runAtOnce: async () => Promise.reject(new Error('not here')) });
  desk.ask({ server: 'far' }, handle, { ...CALL, repeated: false, tool: 'elicitation/create', number: 21, arguments: FORM });
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect(answers).toEqual([{ error: { code: 'TOO_MANY', message: 'a server may ask 20 questions during one call' } }]);
  desk[Symbol.dispose]();
});

test('with `ask`, nobody can allow it during a call that runs within another', async () => {
  const { desk, answers, handle } = deskWith('failed');
  desk.ask({ server: 'far', sampling: 'ask' }, handle, sampling('How high?'));
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect([asked, answers]).toEqual([[], [{ error: { code: 'REFUSED', message: 'no person has allowed it' } }]]);
  desk[Symbol.dispose]();
});

test('an attempt that ends while it asks the model leaves the question to the next one', async () => {
  const { desk, answers, handle } = deskWith('failed');
  desk.ask({ server: 'far', sampling: 'allow' }, handle, sampling('wait'));
  await import.meta.jest.advanceTimersByTimeAsync(0);
  desk[Symbol.dispose]();
  await import.meta.jest.advanceTimersByTimeAsync(0);
  expect([asked.length, answers]).toEqual([1, []]);
});

test('the end of a desk ends the calls that run within its attempt, and waits until they have ended; further calls are not taken', async () => {
  import.meta.jest.useRealTimers();
  const log: string[] = [];
  const [begun, told, row] = [deferred<void>(), deferred<void>(), deferred<void>()];
  const { desk, answers, handle } = deskOfReader(async (_args, { signal }) => {
    log.push('begun');
    signal.addEventListener('abort', () => told.resolve());
    begun.resolve();
    await told.promise;
    log.push('told to end');
    await row.promise;
    log.push('has its row');
    throw failure('DETACHED', { execId: 'call_1-1' });
  });
  const look = { ...CALL, tool: 'lab:look', arguments: {}, repeated: false };
  desk.take(handle, look);
  await begun.promise;
  const ended = desk.end().then(() => log.push('ended'));
  await told.promise;
  row.resolve();
  await ended;
  desk.take(handle, { ...look, number: 2 });
  await desk.end();
  expect({ log, answers }).toEqual({ log: ['begun', 'told to end', 'has its row', 'ended'], answers: [] });
});

test('many calls of code with long arguments are handed to the workflow without those that are too much in all', async () => {
  const { desk, handle } = deskOfReader(async () => Promise.reject(new Error('nothing runs at once')), { readOnlyHint: false });
  for (let number = 1; number <= 200; number += 1) {
    desk.take(handle, { ...CALL, number, tool: 'lab:look', arguments: { content: 'x'.repeat(15_000) }, repeated: false });
  }
  const outcome = await desk.suspended;
  expect(outcome).toMatchObject({ outcome: 'suspended', calls: { length: 200 } });
  expect(JSON.stringify(outcome).length).toBeLessThan(500_000);
  desk[Symbol.dispose]();
});
