import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { chatChunks, sendEvents, startProvider } from '../../models/provider-server.ts';
import { until } from '../support.ts';

/** A model that answers when the test says so. It knows a turn by the message of its user. */
export async function openHeldProvider() {
  const waiting = new Map<string, ServerResponse>();
  const asked: string[] = [];
  const provider = await startProvider((response, { body }) => {
    const text = messageIn(body);
    asked.push(text);
    waiting.set(text, response);
  });
  return {
    /** Keys of an agent that asks this model. */
    agent: { model: 'openai-compatible/m', modelOptions: { baseUrl: `${provider.url}/v1` }, tools: [], steps: [{ say: 'unused' }] },
    /** The messages that the model was asked to answer, in order; again when a worker died. */
    asked,
    untilAsked: (text: string, times = 1) => until(async () => asked.filter((other) => other === text).length >= times, `the model is asked about ${text}`),
    answer(text: string) {
      const response = waiting.get(text);
      if (!response) throw new Error(`the model was not asked about ${text}`);
      sendEvents(response, chatChunks([{ role: 'assistant', content: `Answer to ${text}` }]));
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

export type HeldProvider = Awaited<ReturnType<typeof openHeldProvider>>;

function messageIn({ messages }: JsonObject): string {
  const all = Array.isArray(messages) ? (messages as { role: string; content: unknown }[]) : [];
  const content = all.findLast(({ role }) => role === 'user')?.content;
  return typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join('');
}
