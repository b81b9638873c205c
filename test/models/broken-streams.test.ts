import type { JsonObject } from '../../src/contracts/json.ts';
import { chatChunks, sendEvents, startProvider } from './provider-server.ts';
import { createModels } from '../../src/models/create-models.ts';
import { createPrices } from '../../src/models/prices/prices.ts';
import { ask, hello, makeAgent, makeModel, makeRequest, silentLog } from './support.ts';

const KEYS = { OPENAI_API_KEY: 'key-1', ANTHROPIC_API_KEY: 'key-1', GOOGLE_GENERATIVE_AI_API_KEY: 'key-1' };

async function answerOf(model: string, events: (JsonObject | string)[]): Promise<unknown> {
  await using server = await startProvider((response) => sendEvents(response, events));
  const asked = ask(makeModel(model, { baseUrl: server.url }, KEYS), makeRequest([hello]));
  return await asked.then(
    ({ answer }) => answer,
    (error: unknown) => error,
  );
}

const created = { type: 'response.created', response: { id: 'r', created_at: 1, model: 'gpt-5' } };
const message = { type: 'message', id: 'm', role: 'assistant', status: 'in_progress', content: [] };
const half: [string, JsonObject[]][] = [
  [
    'openai/gpt-5',
    [
      created,
      { type: 'response.output_item.added', output_index: 0, item: message },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Half of' },
    ],
  ],
  ['google/gemini-2.5-pro', [{ candidates: [{ content: { role: 'model', parts: [{ text: 'Half of' }] }, index: 0 }] }]],
  [
    'anthropic/claude-test',
    [
      {
        type: 'message_start',
        message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half of' } },
    ],
  ],
  ['openai-compatible/qwen', [chatChunks([{ content: 'Half of' }])[0] as JsonObject]],
];

test.each(half)('%s: a stream that ends in mid-answer as if nothing had happened is no answer, and may be tried again', async (model, events) => {
  const cut = { code: 'MODEL_UNAVAILABLE', retryable: true, message: expect.stringMatching(/cut off|without a finish reason/) };
  expect(await answerOf(model, events)).toMatchObject(cut);
});

test.each(['openai/gpt-5', 'google/gemini-2.5-pro', 'anthropic/claude-test', 'openai-compatible/qwen'])('%s: an empty stream is no answer', async (model) => {
  expect(await answerOf(model, [])).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true });
});

const PROVIDERS = ['openai/gpt-5', 'google/gemini-2.5-pro', 'anthropic/claude-test', 'openai-compatible/qwen'];

async function failureOf(model: string, type: string, body: string): Promise<unknown> {
  await using server = await startProvider((response) => response.writeHead(200, { 'content-type': type }).end(body));
  return await ask(makeModel(model, { baseUrl: server.url }, KEYS), makeRequest([hello])).catch((error: unknown) => error);
}

describe.each(PROVIDERS)('%s: what is answered with 200 and is no stream', (model) => {
  test.each([
    [{ error: { message: 'Your credit is used up', type: 'insufficient_quota' } }, 'MODEL_UNAVAILABLE', true],
    [{ error: { message: 'Your credit is used up', code: 429 } }, 'MODEL_RATE_LIMITED', true],
    [{ type: 'error', error: { message: 'Your credit is used up', type: 'authentication_error' } }, 'MODEL_AUTH', false],
    [{ error: 'Your credit is used up' }, 'MODEL_UNAVAILABLE', true],
    [[{ detail: 'Your credit is used up' }], 'MODEL_UNAVAILABLE', true],
  ])('%j is the failure that it says', async (body, code, retryable) => {
    expect(await failureOf(model, 'application/json', JSON.stringify(body))).toMatchObject({
      code,
      retryable,
      message: expect.stringContaining('Your credit is used up'),
    });
  });

  test('a page of a proxy is shown', async () => {
    const failed = await failureOf(model, 'text/html', `\n<html>Sign in to the network${' '.repeat(100_000)}</html>`);
    expect(failed).toMatchObject({ code: 'MODEL_UNAVAILABLE', message: expect.stringContaining('Sign in to the network') });
  });
});

const called = (id: string, command: string) => [
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id, name: 'shell__run', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: JSON.stringify({ command }) } },
  { type: 'content_block_stop', index: 0 },
];

test('a call that is sent twice is one call', async () => {
  const begun = half.find(([model]) => model === 'anthropic/claude-test')?.[1].slice(0, 1) ?? [];
  const end = { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 7 } };
  const calls = [...called('c1', 'ls'), ...called('c1', 'ls'), ...called('c2', 'ls')];
  const { parts } = (await answerOf('anthropic/claude-test', [...begun, ...calls, end, { type: 'message_stop' }])) as { parts: JsonObject[] };
  expect(parts.map((part) => part['arguments'])).toEqual([{ command: 'ls' }, { command: 'ls' }]);
});

test('an answer that its gateway ended with an error is none', async () => {
  expect(await answerOf('openai-compatible/qwen', chatChunks([{ content: 'Half of' }], 'error'))).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true });
});

test.each([{ prompt_tokens: 0, completion_tokens: 0 }, { prompt_tokens: null, completion_tokens: null }, { prompt_tokens: -5, completion_tokens: -1 }, {}])(
  'a provider that tells no tokens has told no cost: %j',
  async (usage) => {
    const events = chatChunks([{ content: 'All.' }]).map((event) =>
      typeof event === 'object' && 'usage' in event ? { ...event, usage } : event,
    ) as JsonObject[];
    await using server = await startProvider((response) => sendEvents(response, events));
    const prices = createPrices([{ model: '*/*', input: 1, output: 1 }]);
    const model = createModels({ readEnvironment: () => undefined, log: silentLog, prices }).get(makeAgent('openai-compatible/qwen', { baseUrl: server.url }));
    const { answer } = await ask(model, makeRequest([hello]));
    expect(answer).toMatchObject({ isUnmeasured: true, usage: { inputTokens: 0, outputTokens: 0, costUsd: null } });
  },
);

test('an answer whose end has a reason that is not known is a whole one', async () => {
  expect(await answerOf('openai-compatible/qwen', chatChunks([{ content: 'All.' }], 'eos'))).toMatchObject({ parts: [{ type: 'text', text: 'All.' }] });
  const completed = { id: 'r', created_at: 1, model: 'gpt-5', status: 'completed', output: [], incomplete_details: null, usage: null };
  expect(await answerOf('openai/gpt-5', [...(half[0]?.[1] ?? []), { type: 'response.completed', response: completed }])).toMatchObject({
    parts: [{ type: 'text', text: 'Half of' }],
  });
});

test.each([
  [400, 'MODEL_BAD_REQUEST', false],
  ['401', 'MODEL_AUTH', false],
  [429, 'MODEL_RATE_LIMITED', true],
  [502, 'MODEL_UNAVAILABLE', true],
  [7, 'MODEL_UNAVAILABLE', true],
  ['', 'MODEL_UNAVAILABLE', true],
])('the code %p of an error within a stream, as gateways write it, is %s', async (code, expected, retryable) => {
  const [begun] = chatChunks([{ content: 'I' }]);
  const error = { error: { message: 'refused', code, type: null } };
  expect(await answerOf('openai-compatible/qwen', [begun!, error])).toMatchObject({ code: expected, retryable });
});

test.each([{ error: 'overloaded' }, { hello: 1 }, { choices: 'none' }])(
  'what is no part of the protocol is a failure of the provider, and no refusal of the request: %j',
  async (odd) => {
    const [begun] = chatChunks([{ content: 'I' }]);
    expect(await answerOf('openai-compatible/qwen', [begun!, odd])).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true });
  },
);

describe('the request of an answer that has failed is given up', () => {
  const said = (text: string) => `data: ${JSON.stringify(chatChunks([{ content: text }])[0])}\n\n`;

  test.each([
    ['after an error within it', `data: ${JSON.stringify({ error: { message: 'boom' } })}\n\n`, 'boom'],
    ['when it has no end', said('x'.repeat(1_000_000)).repeat(11), 'the answer has more than 10000000 characters'],
  ])('%s', async (_when, next, problem) => {
    let close = () => undefined as void;
    const closed = new Promise<void>((resolve) => (close = resolve));
    await using server = await startProvider((response) => {
      response.on('close', close);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // It is not ended.
      response.write(`${said('I')}${next}${said('And')}`);
    });
    const failed = { code: 'MODEL_UNAVAILABLE', message: expect.stringContaining(problem) as string };
    await expect(ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]))).rejects.toMatchObject(failed);
    await closed;
  });
});
