import type { HostOfQuestion, ModelQuestion, SaidMessage } from '../../../../src/plugins/api/server-question.ts';
import { answerQuestion } from '../../../../src/plugins/dialects/shared/python/answer-question.ts';

const said = (id: number, text: string): SaidMessage => ({ id: String(id), by: 'user', text, at: '2027-01-31T10:00:00.000Z' });

function asker(messages: SaidMessage[] = []) {
  const asked: ModelQuestion[] = [];
  const host: HostOfQuestion = {
    modelName: 'openai/harbour',
    saidSoFar: async () => messages,
    async askModel(question) {
      asked.push(question);
      return { text: 'High.', reasoning: '', calls: [], usage: { inputTokens: 1, outputTokens: 2 } };
    },
  };
  return { asked, ask: (what: string, ...args: Parameters<typeof answerQuestion>[0]['args']) => answerQuestion({ ...host, what, args }) };
}

test('a question to the model is answered with the name of the model', async () => {
  const { ask, asked } = asker();
  const question = { messages: [{ role: 'user', text: 'The tide?' }], maxOutputTokens: 9 };
  expect(await ask('model', question)).toEqual({
    text: 'High.',
    reasoning: '',
    calls: [],
    usage: { inputTokens: 1, outputTokens: 2 },
    model: 'openai/harbour',
  });
  expect(asked).toEqual([{ ...question, tools: [] }]);
  expect(await ask('model-name')).toBe('openai/harbour');
});

test('what is no question is refused, and reaches no model', async () => {
  const { ask, asked } = asker();
  const messages = [{ role: 'user', text: 'The tide?' }];
  for (const given of [undefined, 'text', {}, { messages: [] }, { messages, temperature: 2 }, { messages: [{ role: 'tool', text: '' }] }]) {
    await expect(ask('model', ...(given === undefined ? [] : [given]))).rejects.toThrow(/^the model cannot be asked this: /);
  }
  await expect(ask('model', { messages, tools: [{ name: 'a b', description: '', parameters: {} }] })).rejects.toThrow(/tools\[0\]\.name/);
  await expect(ask('what\never')).rejects.toThrow(String.raw`there is no question "what\never"`);
  expect(asked).toEqual([]);
});

test('the newest messages are told, as many as an answer can hold', async () => {
  const { ask } = asker([said(1, 'old'), ...Array.from({ length: 15 }, (_, index) => said(index + 2, '\u0001'.repeat(30_000))), said(17, 'new')]);
  const told = (await ask('messages')) as unknown as SaidMessage[];
  expect(told.map(({ id }) => id)).toEqual(['10', '11', '12', '13', '14', '15', '16', '17']);
  expect(told[0]?.text.length).toBeLessThan(20_100);
  expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(1_000_000);
});
