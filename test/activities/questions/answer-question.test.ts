import { answerQuestion } from '../../../src/activities/questions/answer-question.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { Store } from '../../../src/store/store.ts';

const TOOL = 'far:elicitation/create';
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const form = { server: 'far', message: 'Where?', schema, answer: {} };
const page = { server: 'far', message: 'Pay.', url: 'https://pay.example/' };

function answer(asked: JsonObject, editedArguments: JsonObject, isOpen = true) {
  const toolCalls = { get: async () => ({ arguments: asked, hash: 'h' }), edit: async () => isOpen } as never as Store['toolCalls'];
  return answerQuestion({ toolCalls }, { callId: 'call_1', tool: TOOL, editedArguments });
}

test('an answer that fits is stored, with the question as it was asked or without it', async () => {
  const arguments_ = { ...form, answer: { city: 'Oslo' } };
  const stored = { outcome: 'edited', hash: expect.stringMatching(/^[0-9a-f]{64}$/), arguments: arguments_ };
  expect(await answer(form, { answer: { city: 'Oslo' } })).toEqual(stored);
  expect(await answer(form, arguments_)).toEqual(stored);
  expect(await answer(page, {})).toMatchObject({ outcome: 'edited', arguments: page });
});

test.each([
  ['what is missing', form, {}, 'answer/city: missing'],
  ['another type', form, { answer: { city: 7 } }, 'answer/city: expected string, got number'],
  ['no object', form, { answer: 'Oslo' }, 'answer: must be an object of the fields of the form, and is "Oslo"'],
  [
    'another question',
    form,
    { message: 'Who?', answer: { city: 'Oslo' } },
    'the question is the server\'s: only "answer" can be given, an object of its fields',
  ],
  ['another form', form, { schema: {}, answer: {} }, 'the question is the server\'s: only "answer" can be given, an object of its fields'],
  ['an answer to a page', page, { answer: {} }, "the question is the server's: it is answered without arguments, when the page has been opened"],
  ['another page', page, { url: 'https://evil.example/' }, "the question is the server's: it is answered without arguments, when the page has been opened"],
])('%s is refused', async (_what, asked, given: JsonObject, message) => {
  expect(await answer(asked, given)).toEqual({ outcome: 'invalid', message });
});

test('a question that has ended cannot be answered', async () => {
  expect(await answer(form, { answer: { city: 'Oslo' } }, false)).toEqual({
    outcome: 'invalid',
    message: 'the question has ended; it cannot be answered any more',
  });
});
