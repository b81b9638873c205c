import { askJudge } from '../../src/judge/ask-judge.ts';
import { createModels } from '../../src/models/create-models.ts';
import { chatChunks, sendEvents, startProvider } from '../models/provider-server.ts';
import { makeAgent, silentLog } from '../models/support.ts';

test('a judge of another provider is asked where the provider of the agent edits prompts', async () => {
  const verdict = JSON.stringify({ verdict: 'allow', confidence: 1, reason: 'It only reads.' });
  await using server = await startProvider((response) => sendEvents(response, chatChunks([{ content: verdict }])));
  const judge = { model: 'openai-compatible/small', modelOptions: { baseUrl: server.url }, rules: [], minConfidence: 0.8, handovers: 3 };
  const context = { providerEdits: true, compactAt: 0.8, keepTurns: 4 };
  const judgement = await askJudge({
    models: createModels({ readEnvironment: () => undefined, log: silentLog }),
    agent: { ...makeAgent('anthropic/claude-test'), context, judge },
    judge,
    call: { tool: 'shell:run', arguments: { command: 'ls' }, userMessages: ['Look around.'] },
    conversationId: 'conv_1',
    turnId: 'turn_1',
    signal: new AbortController().signal,
  });
  expect(judgement).toMatchObject({ verdict: 'allow', model: 'openai-compatible/small' });
});

test('an answer that was cut off is no verdict, whatever came of it; what it cost counts', async () => {
  const verdict = JSON.stringify({ verdict: 'allow', confidence: 1, reason: 'It only reads.' });
  const usage = { inputTokens: 30, outputTokens: 4 };
  const models = {
    get: () => ({ answer: async () => ({ parts: [{ type: 'text' as const, text: verdict }], usage, cutOff: 'content-filter' as const }) }),
    isPriced: () => true,
  };
  const judge = { model: 'scripted/judge.yaml', modelOptions: {}, rules: [], minConfidence: 0.8, handovers: 3 };
  const judgement = await askJudge({
    models,
    agent: { ...makeAgent('scripted/none.yaml'), judge },
    judge,
    call: { tool: 'shell:run', arguments: { command: 'ls' }, userMessages: ['Look around.'] },
    conversationId: 'conv_1',
    turnId: 'turn_1',
    signal: new AbortController().signal,
  });
  expect(judgement).toEqual({
    verdict: 'hand-over',
    reason: expect.stringContaining("cut off by the provider's content filter") as string,
    model: 'scripted/judge.yaml',
    usage,
  });
});
