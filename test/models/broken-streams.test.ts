import type { JsonObject } from '../../src/contracts/json.ts';
import { chatChunks, sendEvents, startProvider } from './provider-server.ts';
import { ask, hello, makeModel, makeRequest } from './support.ts';

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
