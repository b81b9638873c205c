import { ask, hello, makeModel, makeRequest } from './support.ts';
import { startProvider } from './provider-server.ts';

const refusal = (status: number, body: object) =>
  startProvider((response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });

test.each([
  ['anthropic/claude-test', 400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 205000 tokens > 200000 maximum' } }],
  ['anthropic/claude-test', 413, { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }],
  [
    'google/gemini-test',
    400,
    { error: { code: 400, message: 'The input token count (1048580) exceeds the maximum number of tokens allowed (1048576).', status: 'INVALID_ARGUMENT' } },
  ],
  [
    'openai-compatible/qwen',
    400,
    { error: { message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", code: 'context_length_exceeded' } },
  ],
  [
    'openai-compatible/llama',
    400,
    { error: { message: 'the request exceeds the available context size. try increasing it', type: 'exceed_context_size_error' } },
  ],
  ['openai-compatible/grok', 400, { error: { message: "This model's maximum prompt length is 131072 but the request contains 140000 tokens." } }],
])('%s: status %i with the words of a provider for a prompt that is too long is MODEL_CONTEXT_TOO_LONG', async (name, status, body) => {
  await using server = await refusal(status, body);
  const model = makeModel(name, { baseUrl: server.url }, { ANTHROPIC_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' });
  await expect(ask(model, makeRequest([hello]))).rejects.toMatchObject({ code: 'MODEL_CONTEXT_TOO_LONG', retryable: false });
});

test.each([
  [400, 'max_tokens is too large'],
  [401, 'prompt is too long'],
  [500, 'prompt is too long'],
])('status %i with "%s" is another failure', async (status, message) => {
  await using server = await refusal(status, { error: { message } });
  const model = makeModel('openai-compatible/qwen', { baseUrl: server.url });
  await expect(ask(model, makeRequest([hello]))).rejects.not.toMatchObject({ code: 'MODEL_CONTEXT_TOO_LONG' });
});
