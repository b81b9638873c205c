import type { Sampling } from '../../../../../src/contracts/mcp/server.ts';
import type { JsonObject } from '../../../../../src/contracts/json.ts';
import type { Question, QuestionAnswer } from '../../../../../src/contracts/questions/question.ts';
import type { ToolContext } from '../../../../../src/plugins/api/define-plugin.ts';
import type { ModelQuestion } from '../../../../../src/plugins/api/server-question.ts';
import { createRichServer } from '../rich-server.ts';
import { call, openBench, serveFixture, type Bench, type ServedFixture } from '../support.ts';

let served: ServedFixture;
let benches: Record<Sampling | 'none', Bench>;
beforeAll(async () => {
  served = await serveFixture(0, createRichServer);
  const remote = { url: served.url, headers: {}, timeoutMs: 10_000 };
  const [ask, allow, none] = await Promise.all([openBench({ ...remote, sampling: 'ask' }), openBench({ ...remote, sampling: 'allow' }), openBench(remote)]);
  benches = { ask, allow, none };
});
afterAll(async () => {
  await Promise.all(Object.values(benches).map((bench) => bench[Symbol.asyncDispose]()));
  await served[Symbol.asyncDispose]();
});

/** A model that says how many questions it was asked, and a person who answers all questions in this way. */
function conversation(action: QuestionAnswer['action'] = 'accept') {
  const [asked, shown]: [ModelQuestion[], Question[]] = [[], []];
  const context = {
    model: {
      name: 'harbour/large',
      ask: async (question: ModelQuestion) => ({
        text: `answer ${asked.push(question)}`,
        reasoning: '',
        calls: [],
        usage: { inputTokens: 1, outputTokens: 1 },
      }),
    },
    askPerson: async (question: Question) => {
      shown.push(question);
      return { action };
    },
  };
  return { asked, shown, context };
}

/** What the server was told, which it gives as its result. */
const think = async (sampling: keyof typeof benches, input: JsonObject, context?: Partial<ToolContext>): Promise<unknown> =>
  JSON.parse(String(await call(benches[sampling], 'think', input, context)));
const user = (text: string) => ({ role: 'user', content: { type: 'text', text } });
const params = (more: object = {}) => ({ params: { messages: [user('How high is the tide?')], systemPrompt: 'Be short.', maxTokens: 50, ...more } });
const answered = { role: 'assistant', content: { type: 'text', text: 'answer 1' }, model: 'harbour/large' };

test('a server that may ask the model gets its answer, with nothing else of the conversation, and no person is asked', async () => {
  const { asked, shown, context } = conversation();
  const wishes = { includeContext: 'allServers', temperature: 2, modelPreferences: { hints: [{ name: 'other' }] } };
  const messages = [user('How high is the tide?'), { role: 'assistant', content: { type: 'text', text: 'Where?' } }, user('North.')];
  expect(await think('allow', params({ messages, ...wishes }), context)).toEqual(answered);
  const told = [['system', 'Be short.'], ['user', 'How high is the tide?'], ['assistant', 'Where?'], ['user', 'North.']]; // prettier-ignore
  expect(asked).toEqual([{ messages: told.map(([role, text]) => ({ role, text })), tools: [], maxOutputTokens: 50 }]);
  expect(shown).toEqual([]);
});

test('with `ask`, a person sees all that the model would be asked, and allows it', async () => {
  const { asked, shown, context } = conversation();
  expect(await think('ask', params({ messages: [user('How\u202e high?')] }), context)).toEqual(answered);
  expect(asked).toHaveLength(1);
  expect(shown).toEqual([
    {
      server: 'fix',
      message:
        'It wants to ask the model of this conversation, at the cost of the conversation, and gets the answer:\n\nsystem: Be short.\n\nuser: How\\u202e high?',
      schema: { type: 'object', properties: {}, additionalProperties: false },
      answer: {},
    },
  ]);
});

test.each<[QuestionAnswer['action'], string]>([
  ['decline', 'MCP error -1: a person has refused to let the model be asked'],
  ['cancel', 'MCP error -1: no person has allowed it'],
])('with `ask`, an answer %s leaves the model alone', async (action, told) => {
  const { asked, context } = conversation(action);
  expect(await think('ask', params(), context)).toBe(told);
  expect(asked).toEqual([]);
});

test('where nobody can be asked, and where the model cannot, the server is told so', async () => {
  const { context } = conversation();
  expect(await think('ask', params(), { model: context.model })).toBe('MCP error -1: no person has allowed it');
  expect(await think('allow', params())).toBe('MCP error -32600: the model cannot be asked in this call');
  const refusing = { ...context.model, ask: async () => Promise.reject(new Error('the budget of cost of the conversation is used up')) };
  expect(await think('allow', params(), { model: refusing })).toBe('MCP error -32603: the budget of cost of the conversation is used up');
});

test.each<[what: string, more: object, told: string]>([
  ['a picture', { messages: [{ role: 'user', content: { type: 'image', data: 'aGk=', mimeType: 'image/png' } }] }, 'the model can be asked with texts alone'],
  ['nothing', { messages: [] }, 'it has no messages'],
  ['no tokens', { maxTokens: 0 }, 'maxTokens is below 1'],
  ['too much', { messages: [user('x'.repeat(200_001))] }, 'its texts have 200010 characters, and 200000 are allowed'],
])('a server that asks the model with %s is told what is wrong', async (_what, more, told) => {
  const { asked, context } = conversation();
  expect(await think('allow', params(more), context)).toBe(`MCP error -32602: ${told}`);
  expect(asked).toEqual([]);
});

test('what is too long for a person to read is not asked', async () => {
  const { asked, shown, context } = conversation();
  const told = await think('ask', params({ messages: [user('x'.repeat(6_000))] }), context);
  expect(told).toMatch(/^MCP error -32602: a person has to read it before the model is asked, so it may have 6000 characters; it has \d+$/);
  expect([asked, shown]).toEqual([[], []]);
});

test('a server that may not ask the model is not offered it', async () => {
  const { asked, context } = conversation();
  expect(await think('none', params(), context)).toBe('MCP error -32601: Method not found');
  expect(asked).toEqual([]);
});
