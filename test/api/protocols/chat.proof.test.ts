import type { UIMessage } from 'ai';
import { hasAnswers } from '../../../examples/ui-chat/answers.ts';
import type { Scope } from '../../../src/contracts/api-key.ts';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';
import { openPage, type PageOptions } from './page.ts';

/** Pages of the AI SDK, with its real client. */
let installation: Installation;
let service: TestApi;
let headers: { authorization: string };
beforeAll(async () => {
  installation = await installAgents({
    talker: { steps: [{ think: 'A greeting is answered with a greeting.', say: 'Ahoy. What a long day on the sea it was.' }, { say: 'And another.' }] },
    counter: {
      steps: [
        { say: 'I count.', call: 'shell:run', with: { command: 'for i in 1 2 3 4 5; do echo line $i; sleep 0.4; done' }, expect: { exitCode: 0 } },
        { say: 'Counted to five.' },
      ],
    },
    asker: {
      approval: [
        { tool: '*', decide: 'allow' },
        { tool: 'shell:run', when: { command: 'echo asked*' }, decide: 'ask' },
      ],
      steps: [
        {
          say: 'May I?',
          calls: [
            { call: 'shell:run', with: { command: 'echo asked first' } },
            { call: 'shell:run', with: { command: 'echo free' } },
            { call: 'shell:run', with: { command: 'echo asked second' } },
          ],
        },
        { say: 'Done.' },
      ],
    },
    sleeper: { steps: [{ call: 'shell:run', with: { command: 'echo asleep; sleep 300' } }, { say: 'Awake.' }] },
    broken: { steps: [{ call: 'shell:run', with: { command: 'true' }, expect: { exitCode: 1 } }, { say: 'Never said.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = await service.key();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

const open = (id: string, agent: string, more: Partial<PageOptions> = {}) =>
  openPage({ url: service.url, headers, body: { agent, user: 'user-1' }, id, ...more });
const messagesOf = async (id: string) => (await (await fetch(`${service.url}/api/chat/${id}/messages`, { headers })).json()) as UIMessage[];
/** As a page would keep it: without fields that say nothing. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const post = (body: object, more: Record<string, string> = {}) =>
  fetch(`${service.url}/api/chat`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json', ...more }, body: JSON.stringify(body) });
const userMessage = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const stop = (id: string) => fetch(`${service.url}/api/chat/${id}/stop`, { method: 'POST', headers });

test('reasoning and text come as they are written; the page finds the same messages again when it is loaded, and goes on', async () => {
  const { page, requests } = open('talk', 'talker');
  await page.sendMessage({ text: 'Ahoy.' });
  expect([page.error, page.text]).toEqual([undefined, 'Ahoy. What a long day on the sea it was.']);
  expect(page.answer.parts.map(({ type }) => type)).toEqual(['step-start', 'reasoning', 'text']);
  expect(page.answer.id).toMatch(/^turn_/);
  expect(plain(await messagesOf('talk'))).toEqual(plain(page.messages));
  expect((await fetch(`${service.url}/api/chat/talk/stream`, { headers })).status).toBe(204);
  const { conversationId } = page.answer.metadata as { conversationId: string };
  const transcript = await fetch(`${service.url}/v1/conversations/${conversationId}/transcript?format=ui`, { headers });
  expect(plain(await transcript.json())).toEqual(plain({ messages: page.messages }));

  // The conversation's own id names the chat too.
  const again = open(conversationId, 'talker', { messages: await messagesOf('talk') }).page;
  await again.sendMessage({ text: 'Once more.' });
  expect([again.error, again.messages.length, again.text]).toEqual([undefined, 4, 'And another.']);

  // A page that shows the newest messages first, and the others when its user asks for them.
  const newest = await fetch(`${service.url}/api/chat/talk/messages?limit=3`, { headers });
  const next = newest.headers.get('x-longshore-next');
  const older = await fetch(`${service.url}/api/chat/talk/messages?limit=3&before=${next}`, { headers });
  expect(older.headers.get('x-longshore-next')).toBeNull();
  const [first, ...others] = plain(await messagesOf('talk')) as UIMessage[];
  expect([await older.json(), await newest.json()]).toEqual([[first], others]);
  const part = await fetch(`${service.url}/v1/conversations/${conversationId}/transcript?format=ui&limit=1`, { headers });
  expect(await part.json()).toEqual({ messages: others.slice(-1), next: expect.any(Number) as number });
  for (const odd of ['limit=0', 'limit=201', 'before=x', 'after=1']) {
    expect((await fetch(`${service.url}/api/chat/talk/messages?${odd}`, { headers })).status).toBe(400);
  }
  for (const odd of ['format=ui&after=1', 'before=1', 'format=ui&limit=201']) {
    expect((await fetch(`${service.url}/v1/conversations/${conversationId}/transcript?${odd}`, { headers })).status).toBe(400);
  }
  expect(requests).toHaveLength(1);
}, 180_000);

test('live output of a tool; a page that is cut gets the whole message again, as does one that comes after the end', async () => {
  const { page } = open('count', 'counter');
  const seen = new Set<string>();
  const answered = page.sendMessage({ text: 'Count.' });
  await until(() => Promise.resolve((seen.add(String(page.calls[0]?.output)), page.text.endsWith('five.'))), 'it has counted');
  await answered;
  expect([page.error, page.text]).toEqual([undefined, 'I count.Counted to five.']);
  expect(page.calls).toEqual([
    expect.objectContaining({ toolName: 'shell:run', state: 'output-available', providerExecuted: true, output: expect.stringContaining('line 5') as string }),
  ]);
  expect(seen.size).toBeGreaterThan(2);
  expect(seen).toContain('line 1\n');
  expect(plain(await messagesOf('count'))).toEqual(plain(page.messages));

  const cut = open('cut', 'counter').page;
  const begun = cut.sendMessage({ text: 'Count.' });
  await until(() => Promise.resolve(cut.calls.length === 1), 'the call runs');
  await cut.stop();
  await begun;
  // Only the connection has ended.
  const other = open('cut', 'counter', { messages: cut.messages }).page;
  await other.resumeStream();
  expect([other.error, other.messages.length, other.text, other.calls.map(({ state }) => state)]).toEqual([
    undefined,
    2,
    'I count.Counted to five.',
    ['output-available'],
  ]);
  expect(plain(other.messages)).toEqual(plain(await messagesOf('cut')));
  const late = await fetch(`${service.url}/api/chat/cut/stream?message=${other.answer.id}`, { headers });
  const text = await late.text();
  expect([late.headers.get('x-vercel-ai-ui-message-stream'), text.startsWith('data: {"type":"start"'), text.endsWith('data: [DONE]\n\n')]).toEqual([
    'v1',
    true,
    true,
  ]);
}, 180_000);

test('a page is asked, and sends its answers by itself when it has all of them; what is allowed runs, what is denied does not', async () => {
  const { page, requests } = open('ask', 'asker');
  await page.sendMessage({ text: 'Go.' });
  expect([page.status, page.error]).toEqual(['ready', undefined]);
  const asked = page.calls.filter(({ state }) => state === 'approval-requested');
  expect(asked.map(({ input }) => input)).toEqual([{ command: 'echo asked first' }, { command: 'echo asked second' }]);
  expect(plain(await messagesOf('ask'))).toEqual(plain(page.messages));
  const [first, second] = asked.map(({ approval }) => approval?.id ?? '');
  await page.addToolApprovalResponse({ id: first!, approved: true });
  await page.addToolApprovalResponse({ id: second!, approved: false, reason: 'Not today.' });
  await until(() => Promise.resolve(requests.length === 2), 'the page has sent its answers');
  await until(() => Promise.resolve(page.text.endsWith('Done.') && page.status === 'ready'), 'the turn has ended');
  expect([page.error, page.messages.length, requests.length]).toEqual([undefined, 2, 2]);
  expect(page.calls.map(({ state, input }) => [(input as { command: string }).command, state])).toEqual([
    ['echo free', 'output-available'],
    ['echo asked first', 'output-available'],
    ['echo asked second', 'output-denied'],
  ]);
  const { conversationId } = page.answer.metadata as { conversationId: string };
  const events = await installation.store.events.read(conversationId, 0);
  expect(events.flatMap(({ type, data }) => (type === 'tool.approval-resolved' ? [[data['answer'], data['by'], data['reason']]] : []))).toEqual([
    ['allow-once', 'user-1', undefined],
    ['deny', 'user-1', 'Not today.'],
  ]);
}, 180_000);

test('an approval waits for a page that is loaded later, and for a key that may answer it', async () => {
  const { page } = open('wait', 'asker', { headers: await service.key(['conversations:read', 'conversations:write']) });
  await page.sendMessage({ text: 'Go.' });
  const approvals = page.calls.flatMap(({ approval }) => (approval ? [approval.id] : []));
  for (const id of approvals) await page.addToolApprovalResponse({ id, approved: true });
  await until(() => Promise.resolve(page.status === 'error'), 'the answer is refused');
  expect(page.error?.message).toMatch(/^This key lacks the scope approvals:resolve\./);

  const loaded = open('wait', 'asker').page;
  await loaded.resumeStream();
  expect([loaded.status, loaded.calls.filter(({ state }) => state === 'approval-requested').length]).toEqual(['ready', 2]);
  const late = open('wait', 'asker', { messages: await messagesOf('wait'), sendAutomaticallyWhen: hasAnswers });
  // A message that is sent meanwhile waits for the answers, and its stream says so.
  await late.page.sendMessage({ text: 'And then?' });
  expect(late.page.answer.parts).toEqual([{ type: 'data-status', id: 'status', data: { state: 'awaiting-approval' } }]);
  for (const id of approvals) await late.page.addToolApprovalResponse({ id, approved: true });
  await until(
    () => Promise.resolve(late.page.messages[1]?.parts.at(-1)?.type === 'text' && late.page.status === 'ready'),
    'the answers are sent by themselves',
  );
  expect([late.page.error, late.page.messages.map(({ role }) => role)]).toEqual([undefined, ['user', 'assistant', 'user', 'assistant']]);
  expect(late.page.messages[1]?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Done.' });
  await stop('wait');
}, 180_000);

test('closing a stream ends nothing; `stop` ends the turn, and its stream says how', async () => {
  const { page } = open('sleep', 'sleeper');
  const answered = page.sendMessage({ text: 'Sleep.' });
  await until(() => Promise.resolve(page.calls[0]?.state === 'output-available' && page.calls[0].preliminary === true), 'it sleeps');
  expect([(await stop('sleep')).status, await answered]).toEqual([202, undefined]);
  expect([page.status, page.answer.parts.at(-1)]).toEqual(['ready', { type: 'data-status', id: 'status', data: { state: 'interrupted' } }]);
  expect(plain(await messagesOf('sleep'))).toEqual(plain(page.messages));
}, 180_000);

test('a turn that fails is an error of the page, which tells nothing of the inside', async () => {
  const { page } = open('broken', 'broken');
  await page.sendMessage({ text: 'Go.' });
  expect(page.status).toBe('error');
  expect(page.error?.message).toMatch(/^The agent could not finish its answer \(turn_\w+\)\. An operator reads why with: longshore show conv_\w+$/);
  expect(page.answer.parts.at(-1)).toEqual({ type: 'data-status', id: 'status', data: { state: 'failed' } });
}, 180_000);

test('the same message, sent by two tabs at once, is one message with one answer', async () => {
  const body = { id: 'twice', agent: 'talker', user: 'user-1', trigger: 'submit-message', messages: [userMessage('m1', 'Ahoy.')] };
  const texts = await Promise.all((await Promise.all([post(body), post(body), post(body)])).map((answer) => answer.text()));
  expect(new Set(texts.map((text) => /"messageId":"(turn_\w+)"/.exec(text)?.[1])).size).toBe(1);
  expect((await messagesOf('twice')).map(({ role }) => role)).toEqual(['user', 'assistant']);
}, 180_000);

test('what cannot be done is refused with a short text that says what to do', async () => {
  const fresh = { id: 'refused', agent: 'talker', user: 'user-1', messages: [userMessage('m1', 'Ahoy.')] };
  await (await post(fresh)).text();
  const assistant = { id: 'turn_1', role: 'assistant', parts: [] };
  const answered = { type: 'dynamic-tool', state: 'approval-responded', approval: { id: 'call_1.abc.3', approved: true } };
  const refused: [body: object, status: number, text: string, more?: Record<string, string>][] = [
    [{}, 400, 'body.id: it is undefined. Give a text'],
    [{ ...fresh, messages: [] }, 400, 'body.messages: it is an empty array.'],
    [{ ...fresh, id: 'new', agent: undefined }, 400, 'body.agent: it is undefined. Name an agent in the first message of a chat'],
    [{ ...fresh, id: 'new', user: undefined }, 400, 'body.user: it is undefined. Say for whom the chat is, in its first message'],
    [{ ...fresh, id: 'new', agent: 'nobody' }, 404, 'No agent named "nobody".'],
    [{ ...fresh, user: 'user-2' }, 404, 'No conversation "refused".'],
    [{ ...fresh, user: undefined }, 404, 'No conversation "refused".', { 'x-longshore-user': 'user-2' }],
    [fresh, 400, 'body.user: it is not the user of the header x-longshore-user.', { 'x-longshore-user': 'user-2' }],
    [{ ...fresh, messages: [userMessage('m1', 'Ahoy there.')] }, 409, 'Message "m1" was sent before with another text'],
    [{ ...fresh, messages: [userMessage('m2', ' ')] }, 400, 'Message refused: it is empty.'],
    [{ ...fresh, trigger: 'regenerate-message' }, 400, 'body.trigger: an answer cannot be made again.'],
    [{ ...fresh, messages: [assistant] }, 400, 'body.messages: the last one: it is of the assistant, and answers no approval and no call.'],
    [{ ...fresh, messages: [{ ...assistant, role: 'system' }] }, 400, 'body.messages: the last one: its role is "system".'],
    [{ ...fresh, messages: [{ ...assistant, parts: [answered] }] }, 400, 'body.messages: the last one: its id is of no turn of this chat.'],
    [
      { ...fresh, messages: [{ ...userMessage('m3', ''), parts: [{ type: 'source-url' }] }] },
      400,
      'it has a part of the type "source-url". Send texts and files only',
    ],
    [
      { ...fresh, messages: [{ ...userMessage('m3', ''), parts: [{ type: 'file', url: 'https://a.example' }] }] },
      400,
      'the service fetches none. Send the bytes as data:',
    ],
  ];
  for (const [body, status, text, more] of refused) {
    const answer = await post(body, more);
    expect([body, answer.status, answer.headers.get('content-type')]).toEqual([body, status, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toContain(text);
  }
  const withoutScope = await service.key(['conversations:read'] satisfies Scope[]);
  expect((await fetch(`${service.url}/api/chat`, { method: 'POST', headers: withoutScope })).status).toBe(403);
}, 180_000);
