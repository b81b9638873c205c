import type { UIMessage } from 'ai';
import OpenAI from 'openai';
import { installAgents, until, untilEvent, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';
import { openPage, type Page } from './page.ts';

/** Tools of clients as pages of the AI SDK and programs that speak OpenAI's chat completions have them, with their real clients. */
let installation: Installation;
let service: TestApi;
let headers: { authorization: string };
let openai: OpenAI;
const output = { type: 'object', properties: { opened: { type: 'boolean' } }, required: ['opened'] };
const clientTools = { open_file: { description: 'Opens a file.', parameters: { type: 'object', properties: { path: { type: 'string' } } }, output } };
const call = (path: string) => ({ call: 'client:open_file', with: { path } });
beforeAll(async () => {
  const usage = { inputTokens: 40, outputTokens: 6 };
  installation = await installAgents({
    opener: {
      clientTools,
      steps: [
        { say: 'I open it.', ...call('a.txt'), usage },
        { say: 'It is open.', usage },
      ],
    },
    both: {
      clientTools,
      steps: [{ calls: [call('a.txt'), { call: 'shell:run', with: { command: 'echo looked' } }, call('b.txt')] }, { say: 'Both are open.' }],
    },
    large: { clientTools, steps: [{ ...call('x'.repeat(20_000)) }, { say: 'It is open.' }] },
    asker: { clientTools, approval: [{ tool: 'client:*', decide: 'ask' }], steps: [call('a.txt'), { say: 'It is open.' }] },
    coder: {
      clientTools,
      tools: ['code:*'],
      steps: [{ call: 'code:run', with: { language: 'python', code: 'print(tools.client.open_file(path="b.txt"))' } }, { say: 'The code has ended.' }],
    },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = await service.key();
  openai = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: headers.authorization.replace('Bearer ', '') });
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** A page that runs `open_file` itself, as the documents of the AI SDK have it. */
function openOpener(id: string, agent: string, run: (path: string) => object = () => ({ opened: true })) {
  const ran: string[] = [];
  const { page, requests } = openPage({
    url: service.url,
    headers,
    body: { agent, user: 'user-1' },
    id,
    onToolCall({ toolCall: { dynamic, toolName, toolCallId, input } }) {
      if (dynamic || toolName !== 'open_file') return;
      const { path } = input as { path: string };
      ran.push(path);
      void page.addToolOutput({ tool: toolName as never, toolCallId, output: run(path) });
    },
  });
  return { page, requests, ran };
}
const toolsOf = (message: UIMessage) => message.parts.filter((part) => part.type === 'tool-open_file').map((part) => plain(part));
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const answered = (page: Page, text: string) => until(async () => page.text.endsWith(text) && page.status === 'ready', `the page says: ${text}`);

test('a page runs the call that its stream ends with, sends its result by itself, and the message goes on', async () => {
  const { page, requests, ran } = openOpener('opener-1', 'opener');
  await page.sendMessage({ text: 'Open it.' });
  await answered(page, 'It is open.');
  expect(ran).toEqual(['a.txt']);
  expect(page.text).toBe('I open it.It is open.');
  expect(toolsOf(page.answer)).toMatchObject([{ state: 'output-available', input: { path: 'a.txt' }, output: { opened: true } }]);
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
  expect(page.messages).toHaveLength(2);
}, 60_000);

test('a page that loads the chat, and one that follows its stream again, do not run a call that has its result', async () => {
  const first = openOpener('opener-2', 'opener');
  await first.page.sendMessage({ text: 'Open it.' });
  await answered(first.page, 'It is open.');
  const messages = (await (await fetch(`${service.url}/api/chat/opener-2/messages`, { headers })).json()) as UIMessage[];
  expect(messages.flatMap(toolsOf)).toMatchObject([{ state: 'output-available', output: { opened: true }, providerExecuted: true }]);
  const again = openOpener('opener-2', 'opener');
  const stream = await fetch(`${service.url}/api/chat/opener-2/stream?message=${first.page.answer.id}`, { headers });
  const text = await stream.text();
  expect(text).toContain('"toolName":"open_file"');
  expect(text).not.toContain('"providerExecuted":false');
  expect(again.ran).toEqual([]);
}, 60_000);

test('a page that comes while a call waits is given it', async () => {
  const first = openPage({ url: service.url, headers, body: { agent: 'opener', user: 'user-1' }, id: 'opener-3' });
  await first.page.sendMessage({ text: 'Open it.' });
  await first.page.settled();
  expect(toolsOf(first.page.answer)).toMatchObject([{ state: 'input-available', input: { path: 'a.txt' } }]);
  const late = openOpener('opener-3', 'opener');
  await late.page.resumeStream();
  await answered(late.page, 'It is open.');
  expect(late.ran).toEqual(['a.txt']);
}, 60_000);

test('calls of one step come in their order, each when it waits; the tools of the service are not given to the page', async () => {
  const { page, ran } = openOpener('both-1', 'both');
  await page.sendMessage({ text: 'Open both.' });
  await answered(page, 'Both are open.');
  expect(ran).toEqual(['a.txt', 'b.txt']);
  expect(page.calls.map(({ toolName, providerExecuted }) => [toolName, providerExecuted])).toEqual([['shell:run', true]]);
}, 60_000);

test('arguments of any size reach the page', async () => {
  const { page, ran } = openOpener('large-1', 'large');
  await page.sendMessage({ text: 'Open it.' });
  await answered(page, 'It is open.');
  expect(ran).toEqual(['x'.repeat(20_000)]);
}, 60_000);

test('a result that the schema forbids is a failed one', async () => {
  const { page } = openOpener('opener-4', 'opener', () => ({ opened: 'perhaps' }));
  await page.sendMessage({ text: 'Open it.' });
  await answered(page, 'It is open.');
  expect(toolsOf(page.answer)).toMatchObject([{ state: 'output-error', errorText: expect.stringContaining('/opened') as string }]);
}, 60_000);

test('a call that a person has to allow reaches the page after that', async () => {
  const { page, ran } = openOpener('asker-1', 'asker');
  await page.sendMessage({ text: 'Open it.' });
  await page.settled();
  const [asked] = page.answer.parts.filter((part) => part.type === 'tool-open_file');
  expect(ran).toEqual([]);
  if (!asked || !('approval' in asked)) throw new Error('the page is not asked');
  await page.addToolApprovalResponse({ id: (asked.approval as { id: string }).id, approved: true });
  await answered(page, 'It is open.');
  expect(ran).toEqual(['a.txt']);
}, 60_000);

test('code that waits for the page ends the stream, too', async () => {
  const { page, ran } = openOpener('coder-1', 'coder');
  await page.sendMessage({ text: 'Run it.' });
  await answered(page, 'The code has ended.');
  expect(ran).toEqual(['b.txt']);
}, 120_000);

const say = (content: string) => [{ role: 'user' as const, content }];
const tools = [{ type: 'function' as const, function: { name: 'open_file', parameters: { type: 'object' } } }];

test('a program that speaks OpenAI gets the calls, and goes on with their results without naming the conversation', async () => {
  const first = await openai.chat.completions.create({ model: 'opener', messages: say('Open it.'), tools });
  const [choice] = first.choices;
  expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'I open it.' } });
  const [asked, ...others] = choice!.message.tool_calls ?? [];
  expect(others).toEqual([]);
  expect(asked).toMatchObject({ type: 'function', function: { name: 'open_file', arguments: '{"path":"a.txt"}' } });
  const result = { role: 'tool' as const, tool_call_id: asked!.id, content: '{"opened":true}' };
  const messages = [...say('Open it.'), choice!.message, result];
  const second = await openai.chat.completions.create({ model: 'opener', messages, tools });
  expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is open.' } });
  expect(second.usage).toMatchObject({ prompt_tokens: 40, completion_tokens: 6 });
  // The answer of a request that is repeated is the same.
  const again = await openai.chat.completions.create({ model: 'opener', messages, tools });
  expect(again.choices[0]?.message.content).toBe('It is open.');
}, 60_000);

test('the calls and what follows come as streams, too', async () => {
  const collect = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
    const stream = openai.chat.completions.stream({ model: 'opener', messages, tools });
    return (await stream.finalChatCompletion()).choices[0]!;
  };
  const first = await collect(say('Open it.'));
  expect(first.finish_reason).toBe('tool_calls');
  const [asked] = first.message.tool_calls ?? [];
  expect(asked).toMatchObject({ function: { name: 'open_file', arguments: '{"path":"a.txt"}' } });
  const second = await collect([...say('Open it.'), first.message, { role: 'tool', tool_call_id: asked!.id, content: '{"opened":true}' }]);
  expect(second).toMatchObject({ finish_reason: 'stop', message: { content: 'It is open.' } });
}, 60_000);

test('a message that follows the results of its calls is read with them, by the turn that waits', async () => {
  const first = await openai.chat.completions.create({ model: 'opener', messages: say('Open it.'), tools });
  const [asked] = first.choices[0]!.message.tool_calls ?? [];
  const result = { role: 'tool' as const, tool_call_id: asked!.id, content: '{"opened":true}' };
  const messages = [...say('Open it.'), first.choices[0]!.message, result, ...say('And tell me of it.')];
  const { data, response } = await openai.chat.completions.create({ model: 'opener', messages, tools }).withResponse();
  expect(data.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is open.' } });
  const entries = await installation.longshore.transcript(response.headers.get('x-longshore-conversation') ?? '');
  expect(entries.map(({ entry }) => entry.role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
  expect(new Set(entries.map(({ turnId }) => turnId)).size).toBe(1);
});

test('results of calls of others, and tools that the agent does not declare, are refused', async () => {
  const first = await openai.chat.completions.create({ model: 'opener', messages: say('Open it.') });
  const [asked] = first.choices[0]!.message.tool_calls ?? [];
  const messages = [...say('Open it.'), first.choices[0]!.message, { role: 'tool' as const, tool_call_id: asked!.id, content: '{"opened":true}' }];
  const { authorization } = await service.key(undefined, 'another');
  const stranger = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: authorization.replace('Bearer ', '') });
  const refused = { status: 400, message: expect.stringContaining('answers no call of one of your conversations') as string };
  await expect(stranger.chat.completions.create({ model: 'opener', messages })).rejects.toMatchObject(refused);
  const unknown = { role: 'tool' as const, tool_call_id: 'call_none', content: 'x' };
  await expect(openai.chat.completions.create({ model: 'opener', messages: [...say('Hi'), unknown] })).rejects.toMatchObject(refused);
  const other = [{ type: 'function' as const, function: { name: 'close_file' } }];
  await expect(openai.chat.completions.create({ model: 'opener', messages: say('Open it.'), tools: other })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('"close_file" is no client tool of the agent') as string,
  });
  const [row] = await installation.longshore.list({ agent: 'opener' });
  const chat = await installation.longshore.chat(row!.conversationId);
  expect((await untilEvent(chat, ({ type }) => type === 'tool.waiting')).type).toBe('tool.waiting');
  await chat.close();
}, 60_000);
