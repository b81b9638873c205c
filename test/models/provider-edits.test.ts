import type { ContextOptions } from '../../src/contracts/prompts/prompt-options.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import { createModels } from '../../src/models/create-models.ts';
import type { Model } from '../../src/models/model.ts';
import { sendEvents, startProvider } from './provider-server.ts';
import { ask, hello, makeAgent, makeRequest, silentLog } from './support.ts';

const CONTEXT = { window: 100_000, compactAt: 0.8, keepTurns: 4, providerEdits: true };

function modelWith(name: string, context: ContextOptions, options: JsonObject): Model {
  const models = createModels({ readEnvironment: () => 'k', log: silentLog });
  return models.get({ ...makeAgent(name, options), context });
}

/** An answer of Anthropic's API, before which it has cleared results. */
const answerAfter = (edits: JsonObject[]): JsonObject[] => [
  {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Done.' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 9 },
    context_management: { applied_edits: edits },
  },
  { type: 'message_stop' },
];
const cleared = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 12, cleared_input_tokens: 40_000 };

test('with providerEdits, Anthropic is asked to clear older results before the limit of Longshore, and the usage says how much it cleared', async () => {
  await using server = await startProvider((response) => sendEvents(response, answerAfter([cleared])));
  const { answer } = await ask(modelWith('anthropic/claude-test', CONTEXT, { baseUrl: server.url }), makeRequest([hello]));
  const clearing = {
    trigger: { type: 'input_tokens', value: 60_000 },
    keep: { type: 'tool_uses', value: 5 },
    clear_at_least: { type: 'input_tokens', value: 10_000 },
  };
  expect(server.requests[0]?.body['context_management']).toEqual({ edits: [{ type: 'clear_tool_uses_20250919', ...clearing }] });
  expect(server.requests[0]?.headers['anthropic-beta']).toContain('context-management');
  expect(answer.usage).toMatchObject({ inputTokens: 5, outputTokens: 9, clearedTokens: 40_000 });
});

test('without it, or with nothing cleared, the usage has no such field; options of the agent take the place of it', async () => {
  await using server = await startProvider((response) => sendEvents(response, answerAfter([])));
  const { providerEdits: _, ...plain } = CONTEXT;
  const own = { edits: [{ type: 'clear_tool_uses_20250919' }] };
  const [without, nothing] = [
    await ask(modelWith('anthropic/claude-test', plain, { baseUrl: server.url }), makeRequest([hello])),
    await ask(modelWith('anthropic/claude-test', CONTEXT, { baseUrl: server.url, contextManagement: own }), makeRequest([hello])),
  ];
  expect(server.requests[0]?.body).not.toHaveProperty('context_management');
  expect(server.requests[1]?.body['context_management']).toEqual(own);
  expect([without.answer.usage, nothing.answer.usage].some((usage) => 'clearedTokens' in usage)).toBe(false);
});

test.each([
  ['openai/gpt-5', CONTEXT, 'its provider does not edit prompts. Remove context.providerEdits from the file of the agent'],
  ['anthropic/other', { compactAt: 0.8, keepTurns: 4, providerEdits: true }, 'needs the window of the model, which is not known. Set context.window'],
])('%s with %j is refused', (name, context, problem) => {
  expect(() => modelWith(name, context, {})).toThrow(expect.objectContaining({ code: 'MODEL_NOT_SUPPORTED', message: expect.stringContaining(problem) }));
});
