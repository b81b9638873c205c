import type { ServerResponse } from 'node:http';
import { chatChunks, sendEvents, startProvider } from '../../models/provider-server.ts';
import { installAgents, until } from '../support.ts';

const output = { type: 'object', properties: { high: { type: 'string' } }, required: ['high'] };

test('a worker dies while the model repairs its answer: the next one asks for the same repair, once', async () => {
  const held: ServerResponse[] = [];
  let isHolding = true;
  await using server = await startProvider((response, { body }) => {
    const isRepair = JSON.stringify(body['messages']).includes('does not fit the JSON Schema');
    if (!isRepair) sendEvents(response, chatChunks([{ content: '{"low": "18:20"}' }]));
    else if (isHolding) held.push(response);
    else sendEvents(response, chatChunks([{ content: '{"high": "12:04"}' }]));
  });
  await using installation = await installAgents({
    pilot: { steps: [], model: 'openai-compatible/m', modelOptions: { baseUrl: `${server.url}/v1` }, output, tools: ['files:*'] },
  });
  const first = installation.startWorker();
  await first.ready;
  const chat = await installation.longshore.start({ agent: 'pilot', user: 'user-1', message: 'High tide?' });
  await until(async () => held.length === 1, 'the model is asked to repair its answer');
  await first.kill();
  isHolding = false;
  await installation.startWorker().ready;
  expect(await chat.answer()).toEqual({ high: '12:04' });
  const entries = await chat.transcript();
  expect(entries.map(({ entry }) => entry.role)).toEqual(['user', 'assistant', 'note', 'assistant']);
  expect((await chat.status()).tokensUsed).toBe(36);
  // The first answer, the repair that died, and its repetition.
  expect(server.requests).toHaveLength(3);
});
