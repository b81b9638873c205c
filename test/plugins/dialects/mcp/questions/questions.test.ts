import type { ToolContext } from '../../../../../src/plugins/api/define-plugin.ts';
import type { Question } from '../../../../../src/contracts/questions/question.ts';
import { deferred } from '../../../../../src/common/deferred.ts';
import { createRichServer } from '../rich-server.ts';
import { call, openBench, richProgram, serveFixture, type Bench, type ServedFixture } from '../support.ts';

let served: ServedFixture;
let far: Bench;
let near: Bench;
beforeAll(async () => {
  served = await serveFixture(0, createRichServer);
  far = await openBench({ url: served.url, headers: {}, timeoutMs: 10_000 });
  near = await openBench(await richProgram());
});
afterAll(async () => {
  await Promise.all([far[Symbol.asyncDispose](), near[Symbol.asyncDispose]()]);
  await served[Symbol.asyncDispose]();
});

/** A person who answers all questions with this city, and what was asked. */
function person(city: string, until: Promise<void> = Promise.resolve()) {
  const asked: Question[] = [];
  const askPerson: ToolContext['askPerson'] = async (question) => {
    asked.push(question);
    await until;
    return { action: 'accept', ...('schema' in question && { content: { city } }) };
  };
  return { asked, context: { askPerson } };
}

test('questions that come with the answers of two calls at a time reach the persons of their own calls', async () => {
  const both = deferred<void>();
  const [ada, bob] = [person('Oslo', both.promise), person('Bergen', both.promise)];
  const calls = [call(far, 'book', {}, ada.context), call(far, 'book', {}, bob.context)];
  await far.until(() => true);
  while (ada.asked.length + bob.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
  both.resolve();
  expect(await Promise.all(calls)).toEqual(['Oslo', 'Bergen'].map((city) => JSON.stringify({ action: 'accept', content: { city } })));
});

test('a question of which it cannot be said which of two calls asks is shown to nobody', async () => {
  const both = deferred<void>();
  const [ada, bob] = [person('Oslo', both.promise), person('Bergen', both.promise)];
  const first = call(near, 'book', {}, ada.context);
  while (ada.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const second = call(near, 'odd', { params: { message: 'Hello', requestedSchema: { type: 'object', properties: {} } } }, bob.context);
  expect(await second).toBe(JSON.stringify('MCP error -32600: it is not known which call asks: there is none in progress, or more than one'));
  expect(bob.asked).toEqual([]);
  both.resolve();
  expect(await first).toBe(JSON.stringify({ action: 'accept', content: { city: 'Oslo' } }));
});

test('a server is told what is wrong with its question, and that nobody can be asked', async () => {
  const params = { mode: 'url', message: 'Pay.', url: 'ftp://pay.example/', elicitationId: '1' };
  expect(await call(far, 'odd', { params }, person('Oslo').context)).toBe(JSON.stringify('MCP error -32602: its url is not an http or https address'));
  expect(await call(far, 'book')).toBe(JSON.stringify({ action: 'cancel' }));
});

test('a call that is refused until a page was opened is made again when a person has opened it', async () => {
  const { asked, context } = person('');
  expect(await call(far, 'locked', {}, context)).toBe('2');
  expect(asked).toEqual([{ server: 'fix', message: 'Log in.', url: 'https://login.example/' }]);
});

test('a call that is refused until a page was opened fails when nobody opens it', async () => {
  const declined = call(near, 'locked', {}, { askPerson: async () => ({ action: 'decline' }) });
  await expect(declined).rejects.toThrow('URL elicitation required');
});

test('what a server logs is logged as its words', async () => {
  const begun = far.logged.length;
  expect(await call(far, 'chat')).toBe(JSON.stringify('logged'));
  await far.until(() => far.logged.slice(begun).includes('an MCP server logs {"at":"Oslo\\u202e"}'));
  expect(far.logged.slice(begun)).toEqual(['an MCP server logs {"at":"Oslo\\u202e"}']);
});
