import type { JsonObject } from '../../src/contracts/json.ts';
import { chatChunks, sendEvents, startProvider } from './provider-server.ts';
import { ask, hello, makeModel, makeRequest } from './support.ts';

const toolCall = (index: number, name: string, input: string): JsonObject => ({
  tool_calls: [{ index, id: `x${index}`, type: 'function', function: { name, arguments: input } }],
});

describe('an openai-compatible model', () => {
  test('text streams as it comes and tool calls carry full ids', async () => {
    await using server = await startProvider((response) => {
      sendEvents(
        response,
        chatChunks(
          [
            { reasoning_content: 'Let me see. ' },
            { content: 'I look' },
            { content: ' now.' },
            toolCall(0, 'shell__run', '{"command":'),
            { tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] },
          ],
          'tool_calls',
        ),
      );
    });
    const model = makeModel('openai-compatible/qwen', { baseUrl: `${server.url}/v1`, temperature: 0, keep_alive: '5m' });
    const { answer, deltas } = await ask(model, makeRequest([hello]));
    expect(answer.parts).toEqual([
      { type: 'reasoning', text: 'Let me see. ' },
      { type: 'text', text: 'I look now.' },
      { type: 'tool-call', callId: '', tool: 'shell:run', arguments: { command: 'ls' } },
    ]);
    expect(answer.usage).toEqual({ inputTokens: 11, outputTokens: 7, cacheReadTokens: 0, costUsd: null });
    expect(deltas.filter(({ type }) => type === 'text').map(({ text }) => text)).toEqual(['I look', ' now.']);
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.body).toMatchObject({ model: 'qwen', temperature: 0, keep_alive: '5m', stream: true, tools: [{ function: { name: 'shell__run' } }] });
    expect(request?.body.messages).toMatchObject([{ role: 'system', content: 'Be brief.' }, { role: 'user' }]);
  });

  test('a transcript with calls and results goes back in the form of the protocol', async () => {
    await using server = await startProvider((response) => sendEvents(response, chatChunks([{ content: 'Done.' }])));
    const model = makeModel('openai-compatible/qwen', { baseUrl: server.url }, { OPENAI_COMPATIBLE_API_KEY: 'key-1' });
    await ask(
      model,
      makeRequest([
        hello,
        { role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_a00', tool: 'shell:run', arguments: { command: 'ls' } }] },
        { role: 'tool', callId: 'call_a00', tool: 'shell:run', content: [{ type: 'text', text: 'a.txt' }], isError: false },
      ]),
    );
    expect(server.requests[0]?.headers.authorization).toBe('Bearer key-1');
    expect(server.requests[0]?.body.messages).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'call_a00', function: { name: 'shell__run', arguments: '{"command":"ls"}' } }] },
      { role: 'tool', tool_call_id: 'call_a00', content: 'a.txt' },
    ]);
  });

  test.each([
    ['cut off', '{"command":"l'],
    ['a list', '["ls"]'],
  ])('arguments that are no JSON object (%s) are kept as unreadable', async (_, input) => {
    await using server = await startProvider((response) => sendEvents(response, chatChunks([toolCall(0, 'shell__run', input)], 'tool_calls')));
    const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
    expect(answer.parts).toMatchObject([{ type: 'tool-call', tool: 'shell:run', arguments: {}, unreadable: expect.stringContaining('no JSON object') }]);
  });

  test('arguments that are nested too deeply, or made of too many parts, are kept as unreadable', async () => {
    for (const input of [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, `[${'{},'.repeat(250_000)}{}]`]) {
      await using server = await startProvider((response) => sendEvents(response, chatChunks([toolCall(0, 'shell__run', input)], 'tool_calls')));
      const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
      const unreadable = expect.stringMatching(/^The arguments have JSON that (is nested more than 500 levels deep|has more than 200000 keys)/);
      expect(answer.parts).toMatchObject([{ type: 'tool-call', tool: 'shell:run', arguments: {}, unreadable }]);
    }
  });

  test('arguments with a number that would lose digits are kept as unreadable, with the number', async () => {
    const call = toolCall(0, 'shell__run', '{"id":1234567890123456789,"text":"9007199254740993"}');
    await using server = await startProvider((response) => sendEvents(response, chatChunks([call], 'tool_calls')));
    const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
    expect(answer.parts).toMatchObject([{ arguments: {}, unreadable: expect.stringContaining('have the number 1234567890123456789, which would be rounded') }]);
  });

  test('a tool that does not exist keeps the name that the model used', async () => {
    await using server = await startProvider((response) => sendEvents(response, chatChunks([toolCall(0, 'fly', '{"to":"moon"}')], 'tool_calls')));
    const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
    expect(answer.parts).toEqual([{ type: 'tool-call', callId: '', tool: 'fly', arguments: { to: 'moon' } }]);
  });

  test.each([
    [401, 'MODEL_AUTH', false],
    [403, 'MODEL_AUTH', false],
    [400, 'MODEL_BAD_REQUEST', false],
    [404, 'MODEL_BAD_REQUEST', false],
    [422, 'MODEL_BAD_REQUEST', false],
    [429, 'MODEL_RATE_LIMITED', true],
    [500, 'MODEL_UNAVAILABLE', true],
    [529, 'MODEL_UNAVAILABLE', true],
  ])('status %i is %s after one request', async (status, code, retryable) => {
    await using server = await startProvider((response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' });
      response.end(JSON.stringify({ error: { message: 'refused: secret-key', type: 'x' } }));
    });
    const model = makeModel('openai-compatible/qwen', { baseUrl: server.url }, { OPENAI_COMPATIBLE_API_KEY: 'secret-key' });
    const error = await ask(model, makeRequest([hello])).catch((error: unknown) => error);
    expect(error).toMatchObject({ code, retryable, values: { model: 'openai-compatible/qwen' } });
    expect((error as Error).message).toContain('refused: [redacted]');
    expect((error as Error).message).not.toContain('secret-key');
    expect((error as { values: JsonObject }).values.retryAfterMs).toBe(status === 429 ? 7000 : undefined);
    expect(server.requests).toHaveLength(1);
  });

  test('a server that is away, and one that dies in mid-answer, are unavailable', async () => {
    const away = makeModel('openai-compatible/qwen', { baseUrl: 'http://127.0.0.1:1/v1' });
    await expect(ask(away, makeRequest([hello]))).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    await using server = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chatChunks([{ content: 'I' }])[0])}\n\n`, () => response.destroy());
    });
    const dying = makeModel('openai-compatible/qwen', { baseUrl: server.url });
    await expect(ask(dying, makeRequest([hello]))).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
  });

  test('aborting ends the request and raises the reason', async () => {
    const controller = new AbortController();
    await using server = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chatChunks([{ content: 'I' }])[0])}\n\n`);
    });
    const model = makeModel('openai-compatible/qwen', { baseUrl: server.url });
    const reason = new Error('the conversation was interrupted');
    const answer = model.answer(makeRequest([hello], { signal: controller.signal }), () => controller.abort(reason));
    await expect(answer).rejects.toBe(reason);
  });
});

describe('an anthropic model', () => {
  test('thinking keeps its signature, and goes back with it', async () => {
    await using server = await startProvider((response) =>
      sendEvents(response, [
        {
          type: 'message_start',
          message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig-1' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't1', name: 'shell__run', input: {} } },
        { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"command":"ls"}' } },
        { type: 'content_block_stop', index: 1 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } },
        { type: 'message_stop' },
      ]),
    );
    const model = makeModel('anthropic/claude-test', { baseUrl: server.url }, { ANTHROPIC_API_KEY: 'k' });
    const { answer, deltas } = await ask(model, makeRequest([hello]));
    expect(answer.parts).toMatchObject([
      { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'sig-1' } } },
      { type: 'tool-call', tool: 'shell:run', arguments: { command: 'ls' } },
    ]);
    expect(answer.usage).toEqual({ inputTokens: 5, outputTokens: 9, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null });
    expect(deltas).toEqual([{ type: 'reasoning', text: 'Hm.' }]);
    const spoken = answer.parts.map((part) => (part.type === 'tool-call' ? { ...part, callId: 'call_a00' } : part));
    await ask(model, makeRequest([hello, { role: 'assistant', parts: spoken }]));
    expect(server.requests[1]?.headers['x-api-key']).toBe('k');
    expect(server.requests[1]?.body.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'sig-1' },
          { type: 'tool_use', id: 'call_a00', name: 'shell__run' },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_a00', is_error: true, cache_control: { type: 'ephemeral' } }] },
    ]);
  });

  test.each([
    ['overloaded_error', 'MODEL_UNAVAILABLE'],
    ['invalid_request_error', 'MODEL_BAD_REQUEST'],
    ['rate_limit_error', 'MODEL_RATE_LIMITED'],
  ])('an error within the stream (%s) is %s', async (type, code) => {
    await using server = await startProvider((response) =>
      sendEvents(response, [
        {
          type: 'message_start',
          message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
        },
        { type: 'error', error: { type, message: 'no' } },
      ]),
    );
    const model = makeModel('anthropic/claude-test', { baseUrl: server.url }, { ANTHROPIC_API_KEY: 'k' });
    await expect(ask(model, makeRequest([hello]))).rejects.toMatchObject({ code });
  });
});

describe('a model string', () => {
  test.each([
    ['gpt-5', {}, 'not of the form provider/model'],
    ['acme/gpt', {}, 'no provider "acme"'],
    ['constructor/gpt', {}, 'no provider "constructor"'],
    ['openai-compatible/qwen', {}, 'baseUrl is missing'],
    ['openai-compatible/qwen', { baseUrl: 'ftp://x' }, 'not an http(s) URL'],
  ])('%s %j is refused: %s', (model, options, problem) => {
    expect(() => makeModel(model, options)).toThrow(expect.objectContaining({ code: 'MODEL_NOT_SUPPORTED', message: expect.stringContaining(problem) }));
  });

  test.each([
    ['openai/gpt', 'OPENAI_API_KEY'],
    ['anthropic/claude', 'ANTHROPIC_API_KEY'],
    ['google/gemini', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ])('%s without a key names %s', (model, variable) => {
    expect(() => makeModel(model)).toThrow(expect.objectContaining({ code: 'MODEL_AUTH', message: expect.stringContaining(variable) }));
  });
});

test('an openai model keeps nothing at the provider', async () => {
  await using server = await startProvider((response) => sendEvents(response, ['[DONE]']));
  const model = makeModel('openai/gpt-5', { baseUrl: server.url }, { OPENAI_API_KEY: 'k' });
  await ask(model, makeRequest([hello])).catch(() => undefined);
  expect(server.requests[0]).toMatchObject({ path: '/responses', body: { store: false } });
});

/** A schema that refers to itself, with a property that is called like a keyword. */
const RECURSIVE: JsonObject = {
  type: 'object',
  properties: { root: { $ref: '#/$defs/node' }, $ref: { type: 'string' } },
  required: ['root'],
  additionalProperties: false,
  $defs: {
    node: { type: 'object', properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } }, required: ['name'] },
  },
};

test.each([
  ['openai/gpt-5', 'OPENAI_API_KEY', (body: JsonObject) => (body['tools'] as JsonObject[])[0]?.['parameters']],
  [
    'openai-compatible/qwen',
    'OPENAI_COMPATIBLE_API_KEY',
    (body: JsonObject) => ((body['tools'] as JsonObject[])[0]?.['function'] as JsonObject | undefined)?.['parameters'],
  ],
  ['anthropic/claude-test', 'ANTHROPIC_API_KEY', (body: JsonObject) => (body['tools'] as JsonObject[])[0]?.['input_schema']],
])('%s is offered a recursive schema as it is', async (name, key, schemaIn) => {
  await using server = await startProvider((response) => sendEvents(response, ['[DONE]']));
  const tools = [{ tool: 'tree:plant', name: 'tree__plant', description: 'Plants.', parameters: RECURSIVE }];
  await ask(makeModel(name, { baseUrl: server.url }, { [key]: 'k' }), makeRequest([hello], { tools })).catch(() => undefined);
  expect(schemaIn(server.requests[0]?.body ?? {})).toEqual(RECURSIVE);
});

test('a google model is offered a recursive schema in the field that takes references', async () => {
  await using server = await startProvider((response) => sendEvents(response, ['[DONE]']));
  const tools = [{ tool: 'tree:plant', name: 'tree__plant', description: 'Plants.', parameters: RECURSIVE }];
  await ask(makeModel('google/gemini-test', { baseUrl: server.url }, { GOOGLE_GENERATIVE_AI_API_KEY: 'k' }), makeRequest([hello], { tools })).catch(
    () => undefined,
  );
  expect(JSON.stringify(server.requests[0]?.body['tools'])).toContain('$defs');
});

describe('a schema of the answer', () => {
  const output = { type: 'object', properties: { high: { type: 'string' } } };

  test.each([
    ['openai/gpt', output, { type: 'json_schema', strict: false, name: 'answer', schema: output }],
    ['openai/gpt', { type: 'array' }, undefined],
    ['openai-compatible/qwen', output, undefined],
  ])('is part of the request where the provider takes it: %s', async (name, schema, format) => {
    await using server = await startProvider((response) => response.writeHead(400).end('{}'));
    const model = makeModel(name, { baseUrl: server.url }, { OPENAI_API_KEY: 'key-1' });
    await ask(model, makeRequest([hello], { output: schema })).catch(() => undefined);
    const { text, response_format: chat } = server.requests[0]?.body ?? {};
    expect((text as { format?: unknown } | undefined)?.format).toEqual(format);
    expect(chat).toBeUndefined();
  });
});

describe('an answer that the provider ended', () => {
  test.each([
    ['length', { cutOff: 'length' }],
    ['content_filter', { cutOff: 'content-filter' }],
    ['stop', {}],
  ])('says so: %s', async (reason, expected) => {
    await using server = await startProvider((response) => sendEvents(response, chatChunks([{ content: 'The high water is at' }], reason)));
    const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
    expect(answer).toEqual({ parts: [{ type: 'text', text: 'The high water is at' }], usage: expect.anything(), ...expected });
  });

  test.each([
    ['', { arguments: {}, unreadable: expect.stringContaining('cut off') }],
    ['{"command":"rm', { arguments: {}, unreadable: expect.stringContaining('no JSON object') }],
    ['{"command":"ls"}', { arguments: { command: 'ls' } }],
  ])('has no call whose arguments were still to come: %s', async (input, expected) => {
    await using server = await startProvider((response) => sendEvents(response, chatChunks([toolCall(0, 'shell__run', input)], 'length')));
    const { answer } = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello]));
    expect(answer.parts).toEqual([{ type: 'tool-call', callId: '', tool: 'shell:run', ...expected }]);
  });
});
