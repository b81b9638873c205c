import type { Agent } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { Usage } from '../../../src/contracts/usage.ts';
import type { ModelAnswer, ModelRequest } from '../../../src/models/model.ts';
import { createModelDesk } from '../../../src/tool-calls/tasks/model-desk.ts';
import type { AskingPlace, Attempt } from '../../../src/store/service/task-questions.ts';

const idOf = (number: number) => number.toString(16).padStart(32, '0');
const NOTHING = { calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, knownCostUsd: 0, unpricedCalls: 0 };
const ANSWER: ModelAnswer = { parts: [{ type: 'text', text: 'High.' }], usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.5 } };

/** A promise that is settled later. */
function later() {
  let resolve!: (answer: ModelAnswer) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<ModelAnswer>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

/** A desk with one conversation, whose rows are in `rows`. `held`: another worker asks the question. */
function bench(known: Partial<AskingPlace> = {}, { answer = async (): Promise<ModelAnswer> => ANSWER, held = false, gone = false, isPriced = true } = {}) {
  const rows = new Map<string, Usage & { settled?: true }>();
  const requests: ModelRequest[] = [];
  const logged: unknown[] = [];
  const ended = new AbortController();
  const taskQuestions = {
    async reserve({ conversationId, questionId }: { conversationId: string; questionId: string }, _model: string, decide: (place: AskingPlace) => Usage) {
      if (held) return 'held' as const;
      rows.set(questionId, decide({ state: 'idle', mayUse: {}, used: NOTHING, asked: 0, ...known }));
      return { conversationId, id: questionId };
    },
    hold: async () => undefined,
    async settle({ id }: Attempt, usage: Usage) {
      rows.set(id, { ...usage, settled: true });
      return !gone;
    },
    drop: async ({ id }: Attempt) => void rows.delete(id),
  };
  const models = {
    isPriced: () => isPriced,
    costOf: () => (isPriced ? 0.25 : null),
    get: () => ({
      answer(request: ModelRequest) {
        requests.push(request);
        return answer();
      },
    }),
  };
  const log = { info: (about: object) => logged.push(about), warn: (about: object) => logged.push(about) };
  const desk = createModelDesk({ store: { taskQuestions }, models, log, signal: ended.signal } as never);
  let looked = 0;
  const place = async () => {
    looked += 1;
    return { turnId: 'turn_1', agent: { id: 'sailor', model: 'openai/harbour' } as Agent };
  };
  const ask = (number = 1, { pluginId = 'tides', tenantId = 'north', maxOutputTokens = 0 } = {}) => {
    const question = { messages: [{ role: 'user' as const, text: 'The tide?' }], tools: [], ...(maxOutputTokens > 0 && { maxOutputTokens }) };
    return desk.ask({ pluginId, tenantId, id: idOf(number), wish: { what: 'model', conversationId: 'conv_1', question }, place });
  };
  /** Asks again when what was begun has ended. */
  const answered = async (number = 1) => {
    ask(number);
    await desk.settled();
    return ask(number);
  };
  return { desk, ask, answered, rows, requests, logged, ended, looked: () => looked };
}

test('a question is asked once, and its answer is there the next time that the plugin asks', async () => {
  const { ask, answered, rows, requests } = bench();
  expect(ask()).toBeUndefined();
  const reply = { text: 'High.', reasoning: '', calls: [], usage: { inputTokens: 10, outputTokens: 5 }, model: 'openai/harbour' };
  expect(await answered()).toEqual(reply);
  expect(ask()).toEqual(reply);
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ conversationId: 'conv_1', turnId: 'turn_1', ofPlugin: true, maxOutputTokens: 8_192 });
  expect([...rows.values()]).toEqual([{ ...ANSWER.usage, settled: true }]);
});

test('the most that it may use is counted before it is asked, and its answer is limited to that', async () => {
  const waiting = later();
  const { desk, ask, rows, requests } = bench({ mayUse: { tokens: 600 } }, { answer: () => waiting.promise });
  ask(1, { maxOutputTokens: 300 });
  await new Promise(setImmediate);
  const [reserved] = [...rows.values()];
  expect(reserved).toMatchObject({ outputTokens: 300, costUsd: 0.25 });
  expect(reserved?.inputTokens).toBeGreaterThan(0);
  expect(requests[0]?.maxOutputTokens).toBe(300);
  waiting.resolve(ANSWER);
  await desk.settled();
  expect([...rows.values()]).toEqual([{ ...ANSWER.usage, settled: true }]);
});

test.each<[Partial<AskingPlace>, string | RegExp]>([
  [{ state: 'closed' }, 'the conversation "conv_1" is closed'],
  [{ state: 'closing' }, 'the conversation "conv_1" is closed'],
  [{ state: 'paused' }, 'the conversation "conv_1" is paused; ask the model when it goes on'],
  [{ asked: 100 }, 'tasks of a plugin can ask the model 100 times an hour for a conversation, and they have done so'],
  [{ mayUse: { costUsd: 1 }, used: { ...NOTHING, knownCostUsd: 1 } }, 'the budget of cost of the conversation is used up'],
  [
    { mayUse: { tokens: 400 }, used: { ...NOTHING, inputTokens: 300, outputTokens: 100 } },
    /^the question needs about \d+ tokens, and 0 of the budget of the conversation are left$/,
  ],
])('in a place such as %j, nothing is asked and nothing counted', async (place, message) => {
  const { answered, rows, requests } = bench(place);
  await expect(answered()).rejects.toThrow(message);
  expect([rows.size, requests.length]).toEqual([0, 0]);
});

test('a conversation whose workflow has not said what is left of its budget is asked for after its next turn', async () => {
  const { answered } = bench({ mayUse: undefined as never });
  await expect(answered()).rejects.toThrow('what is left of the budget of the conversation "conv_1" is not known; ask the model after its next turn');
});

test('without a known price, a conversation with a budget of cost is asked nothing, and another one is', async () => {
  const priceless = { isPriced: false };
  await expect(bench({ mayUse: { costUsd: 1 } }, priceless).answered()).rejects.toThrow(
    'the price of the model is not known, and the conversation has a budget of cost',
  );
  expect(await bench({}, priceless).answered()).toMatchObject({ text: 'High.' });
});

test('a plugin of a tenant asks four questions at the same time, and others do not wait for it', async () => {
  const waiting = later();
  const { desk, ask, requests, looked } = bench({}, { answer: () => waiting.promise });
  for (let number = 1; number <= 6; number += 1) ask(number);
  await new Promise(setImmediate);
  expect(requests).toHaveLength(4);
  // Nothing is read for those that wait.
  expect(looked()).toBe(4);
  ask(7, { tenantId: 'south' });
  ask(8, { pluginId: 'waves' });
  await new Promise(setImmediate);
  expect(requests).toHaveLength(6);
  waiting.resolve(ANSWER);
  await desk.settled();
  ask(5);
  await desk.settled();
  expect(ask(5)).toMatchObject({ text: 'High.' });
});

test('a question that the model does not answer counts nothing, and the plugin is told why', async () => {
  const { answered, rows } = bench({}, { answer: () => Promise.reject(failure('MODEL_AUTH', { model: 'm', problem: 'no key', variable: 'KEY' })) });
  await expect(answered()).rejects.toThrow(/no key/);
  expect(rows.size).toBe(0);
});

test('a question that another worker asks, or that this one was asking when it ended, is left to others', async () => {
  const elsewhere = bench({}, { held: true });
  expect(await elsewhere.answered()).toBeUndefined();
  expect(elsewhere.requests).toEqual([]);
  const waiting = later();
  const { desk, ask, rows, ended } = bench({}, { answer: () => waiting.promise });
  ask();
  await new Promise(setImmediate);
  ended.abort();
  waiting.reject(new Error('aborted'));
  await desk.settled();
  // The provider may have worked for it.
  expect([...rows.values()]).toMatchObject([{ outputTokens: 8_192 }]);
});

test('an answer for a conversation that was removed meanwhile is in the log with what it has used', async () => {
  const { answered, logged } = bench({}, { gone: true });
  await answered();
  expect(logged).toEqual([{ plugin: 'tides', conversationId: 'conv_1', usage: ANSWER.usage }]);
});
