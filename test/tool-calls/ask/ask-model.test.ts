import { MockActivityEnvironment } from '@temporalio/testing';
import type { Agent } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import type { Usage } from '../../../src/contracts/usage.ts';
import type { ModelAnswer, ModelRequest } from '../../../src/models/model.ts';
import { askModel, usageOfCall, type AskParts } from '../../../src/tool-calls/ask/ask-model.ts';
import { hostsOfQuestions, type Asking } from '../../../src/tool-calls/run/tool-context.ts';
import { saidSoFar } from '../../../src/tool-calls/ask/said-so-far.ts';

const QUESTION = { messages: [{ role: 'user' as const, text: 'The tide?' }], tools: [] };
const ANSWER: ModelAnswer = {
  parts: [
    { type: 'reasoning', text: 'It is noon.' },
    { type: 'text', text: 'High.' },
    { type: 'tool-call', callId: '', tool: 'look', arguments: { at: 'sea' } },
  ],
  usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.5 },
};

test('questions of two runs of a turn are counted each, though Temporal numbers the activities of both from the beginning', async () => {
  const ids = new Set<string>();
  const store = { usage: { add: async ({ id }: { id: string }) => void ids.add(id), under: async () => ({ calls: 0 }) }, transcript: {} };
  const models = { isPriced: () => true, get: () => ({ answer: async () => ANSWER }) };
  const args = { conversationId: 'conv_1', turnId: 'turn_1', callId: 'call_1', modelLeft: {} };
  const asking = { args, agent: { id: 'sailor', model: 'openai/harbour' }, models, store } as unknown as Asking;
  for (const runId of ['run-1', 'run-2']) {
    const environment = new MockActivityEnvironment({ activityId: '7', attempt: 1, workflowExecution: { workflowId: 'conv_1', runId } });
    await environment.run(() => hostsOfQuestions(asking, new AbortController().signal)(1).askModel(QUESTION));
  }
  expect(ids.size).toBe(2);
});

/** A model that answers in turn, and what was counted. */
function bench(modelLeft: AskParts['args']['modelLeft'], answers: (ModelAnswer | Error)[] = [], isPriced = true) {
  const requests: ModelRequest[] = [];
  const counted: { id: string; model: string; usage: Usage }[] = [];
  const sum = (of: 'inputTokens' | 'outputTokens' | 'costUsd') => counted.reduce((total, { usage }) => total + (usage[of] ?? 0), 0);
  const parts = {
    args: { conversationId: 'conv_1', turnId: 'turn_1', callId: 'call_1', ...(modelLeft && { modelLeft }) },
    agent: { id: 'sailor', model: 'openai/harbour' } as Agent,
    models: {
      isPriced: () => isPriced,
      get: () => ({
        async answer(request: ModelRequest) {
          requests.push(request);
          const answer = answers.shift() ?? ANSWER;
          if (answer instanceof Error) throw answer;
          return answer;
        },
      }),
    },
    usage: {
      add: async ({ id }: { id: string }, model: string, usage: Usage) => void counted.push({ id, model, usage }),
      under: async (_conversation: string, beginning: string) => {
        expect(beginning).toBe(usageOfCall('call_1'));
        const used = { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), costUsd: sum('costUsd') };
        return { calls: counted.length, cacheReadTokens: 0, cacheWriteTokens: 0, knownCostUsd: 0, unpricedCalls: 0, ...used };
      },
    },
    signal: new AbortController().signal,
  };
  return { requests, counted, ask: (question: Parameters<typeof askModel>[2] = QUESTION) => askModel(parts, `${requests.length}`, question) };
}

test('a question is what the plugin says, to the model of the agent, and what it uses is counted', async () => {
  const { ask, requests, counted } = bench({});
  const messages = [
    { role: 'system' as const, text: 'Be brief.' },
    { role: 'assistant' as const, text: 'Ask me.' },
    { role: 'user' as const, text: 'The tide?' },
  ];
  expect(await ask({ messages, tools: [{ name: 'look', description: 'Looks.', parameters: {} }], maxOutputTokens: 7 })).toEqual({
    text: 'High.',
    reasoning: 'It is noon.',
    calls: [{ id: 'call_1', name: 'look', arguments: { at: 'sea' } }],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(requests).toMatchObject([
    {
      instructions: 'Be brief.',
      transcript: [{ entry: { role: 'assistant' } }, { entry: { role: 'user' } }],
      tools: [{ tool: 'look', name: 'look' }],
      maxOutputTokens: 7,
      ofPlugin: true,
    },
  ]);
  expect(counted).toEqual([{ id: 'plugin-call_1-0', model: 'openai/harbour', usage: ANSWER.usage }]);
});

test('an answer is limited to what is left of the tokens, and a question that does not fit is not asked', async () => {
  const { ask, requests } = bench({ tokens: 400 });
  await ask();
  const limit = requests[0]?.maxOutputTokens ?? 0;
  expect(limit).toBeGreaterThanOrEqual(256);
  expect(limit).toBeLessThan(400);
  const none = bench({ tokens: 200 });
  await expect(none.ask()).rejects.toThrow(/^the question needs about \d+ tokens, and 200 of the budget of the conversation are left$/);
  expect(none.requests).toEqual([]);
});

test('nothing is asked when the cost is used up, or cannot be known', async () => {
  const { ask, requests } = bench({ costUsd: 0.9 });
  await ask();
  await ask();
  await expect(ask()).rejects.toThrow(/^the budget of cost of the conversation is used up$/);
  expect(requests).toHaveLength(2);
  await expect(bench({ costUsd: 1 }, [], false).ask()).rejects.toThrow(/^the price of the model is not known, and the conversation has a budget of cost$/);
});

test('a call asks 50 times at most, and one of an earlier workflow not at all', async () => {
  const { ask } = bench({});
  for (let count = 0; count < 50; count += 1) await ask();
  await expect(ask()).rejects.toThrow(/^a call may ask the model 50 times, and it has done so$/);
  await expect(bench(undefined).ask()).rejects.toThrow(/^the model cannot be asked in this call$/);
});

test('an error that may pass is tried again, and another one is told', async () => {
  const passing = failure('MODEL_UNAVAILABLE', { model: 'openai/harbour', problem: 'it is busy' });
  const { ask, requests } = bench({}, [passing]);
  expect((await ask()).text).toBe('High.');
  expect(requests).toHaveLength(2);
  await expect(bench({}, [new Error('no key')]).ask()).rejects.toThrow(/^no key$/);
});

test('what was said leaves out tools, notes, thoughts, and what a rewind took back', () => {
  const entries: (TranscriptEntry & { rewound?: true })[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image', mediaType: 'image/png', data: '' },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'tool-call', callId: 'c', tool: 't', arguments: {} },
      ],
    },
    { role: 'tool', callId: 'c', tool: 't', content: [], isError: false },
    { role: 'note', text: 'A note.' },
    { role: 'assistant', parts: [{ type: 'text', text: 'A tide.' }] },
  ];
  const stored = entries.map((entry, index): StoredEntry => ({ seq: index + 1, turnId: 't', at: 'now', entry }));
  const [first] = stored;
  expect(saidSoFar([...(first ? [{ ...first, seq: 0, rewound: true as const }] : []), ...stored])).toEqual([
    { id: '1', by: 'user', text: 'Look.\n[image]', at: 'now' },
    { id: '5', by: 'agent', text: 'A tide.', at: 'now' },
  ]);
});
