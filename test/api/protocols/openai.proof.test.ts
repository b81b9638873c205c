import OpenAI, { APIError } from 'openai';
import { derivedId } from '../../../src/platform/derived-id.ts';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';

/** Programs that speak OpenAI's chat completions, with OpenAI's own client. */
let installation: Installation;
let service: TestApi;
let client: OpenAI;
beforeAll(async () => {
  installation = await installAgents({
    talker: {
      steps: [
        { think: 'A greeting.', say: 'Ahoy.', call: 'shell:run', with: { command: 'echo looked' }, usage: { inputTokens: 30, outputTokens: 5 } },
        { say: 'I have looked.', usage: { inputTokens: 40, outputTokens: 6 } },
        { say: 'And again.' },
      ],
    },
    asker: {
      approval: [{ tool: 'shell:run', decide: 'ask' }],
      steps: [{ say: 'May I?', call: 'shell:run', with: { command: 'true' } }, { say: 'Thank you.' }],
    },
    broken: { steps: [{ call: 'shell:run', with: { command: 'true' }, expect: { exitCode: 1 } }, { say: 'Never said.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  client = await clientFor();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

async function clientFor(...given: Parameters<TestApi['key']>): Promise<OpenAI> {
  const { authorization } = await service.key(...given);
  return new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: authorization.replace('Bearer ', '') });
}
const say = (content: string) => [{ role: 'user' as const, content }];
const inChat = (name: string) => ({ headers: { 'x-longshore-conversation': name } });

test('the models are the agents', async () => {
  const models = [];
  for await (const { id, owned_by: owner } of client.models.list()) models.push([id, owner]);
  expect(models).toEqual([
    ['asker', 'longshore'],
    ['broken', 'longshore'],
    ['talker', 'longshore'],
  ]);
  expect(await client.models.retrieve('talker')).toMatchObject({ id: 'talker', object: 'model' });
  await expect(client.models.retrieve('nobody')).rejects.toMatchObject({ status: 404, code: 'AGENT_NOT_FOUND' });
}, 180_000);

test('an answer as a whole, with its usage; the conversation goes on by its name, and is an ordinary one', async () => {
  const { data, response } = await client.chat.completions.create({ model: 'talker', messages: say('Ahoy.'), user: 'user-1' }, inChat('chat-1')).withResponse();
  expect(data).toMatchObject({
    object: 'chat.completion',
    model: 'talker',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Ahoy.\n\nI have looked.', reasoning_content: 'A greeting.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 70, completion_tokens: 11, total_tokens: 81 },
  });
  const conversationId = response.headers.get('x-longshore-conversation') ?? '';
  const history = [...say('Ahoy.'), { role: 'assistant' as const, content: 'Ahoy.' }, ...say('Once more.')];
  const again = await client.chat.completions.create({ model: 'talker', messages: history, metadata: { conversation: 'chat-1' } });
  expect(again.choices[0]?.message.content).toBe('And again.');
  const entries = await installation.longshore.transcript(conversationId);
  expect(entries.flatMap(({ entry }) => (entry.role === 'user' ? entry.content : []))).toEqual([
    { type: 'text', text: 'Ahoy.' },
    { type: 'text', text: 'Once more.' },
  ]);
}, 180_000);

test('an answer as a stream; a conversation without a name is closed after it', async () => {
  const stream = await client.chat.completions.create({ model: 'talker', messages: say('Ahoy.'), stream: true, stream_options: { include_usage: true } });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Ahoy.\n\nI have looked.');
  expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 70, completion_tokens: 11 } });
  const [newest] = await installation.longshore.list({ user: 'openai', limit: 1 });
  await until(async () => (await installation.longshore.status(newest!.conversationId)).state === 'closed', 'it is closed');
}, 180_000);

test('a request that is repeated with its Idempotency-Key is one message', async () => {
  const options = { headers: { 'idempotency-key': 'order-4711' } };
  const ask = () => client.chat.completions.create({ model: 'talker', messages: say('Ahoy.') }, options).withResponse();
  const [first, second] = await Promise.all([ask(), ask()]);
  // A conversation of one request is closed after its answer.
  const conversationId = first.response.headers.get('x-longshore-conversation')!;
  await until(async () => (await installation.longshore.status(conversationId)).state === 'closed', 'the conversation is closed');
  const third = await ask();
  const names = [first, second, third].map(({ response }) => response.headers.get('x-longshore-conversation'));
  expect(new Set(names).size).toBe(1);
  expect(third.data.choices[0]?.message.content).toBe('Ahoy.\n\nI have looked.');
  const entries = await installation.longshore.transcript(names[0]!);
  expect(entries.filter(({ entry }) => entry.role === 'user')).toHaveLength(1);
  // The same key for another user is another request, which is not given the answer of the first.
  const other = client.chat.completions.create({ model: 'talker', messages: say('Ahoy.'), user: 'user-2' }, options);
  await expect(other).rejects.toMatchObject({ status: 404, code: 'CONVERSATION_NOT_FOUND' });
}, 180_000);

test('a chat of which a request has made no more than the row goes on with the next request', async () => {
  const { store, name } = installation;
  const row = (conversationId: string, state: 'running' | 'closed'): Parameters<typeof store.conversations.create>[0] => {
    const ids = { conversationId, agentId: 'talker', userId: 'user-1', tenantId: 'default', state };
    const figures = { queued: 1, turnsUsed: 0, stepsUsed: 0, tokensUsed: 0, workedMs: 0 };
    return { ...ids, status: { ...ids, ...figures, sandboxTier: 'none', pendingApprovals: [], runningCalls: [] } };
  };
  const derived = (chat: string) => derivedId('conv', [name, 'chat', 'default', chat]);
  const ask = async (chat: string) => client.chat.completions.create({ model: 'talker', messages: say('Ahoy.'), user: 'user-1' }, inChat(chat));
  await store.conversations.create(row(derived('begun'), 'running'));
  const [one, other] = await Promise.all([ask('begun'), ask('begun')]);
  expect(new Set([one, other].map(({ choices }) => choices[0]?.message.content))).toEqual(new Set(['Ahoy.\n\nI have looked.', 'And again.']));
  // Whoever starts a conversation by an id of its own says how, and tries again itself.
  await store.conversations.create(row(`conv_${name}-elsewhere`, 'running'));
  await store.conversations.create(row(derived('over'), 'closed'));
  await expect(ask(`conv_${name}-elsewhere`)).rejects.toMatchObject({ status: 409, code: 'CONVERSATION_UNSTARTED' });
  await expect(ask('over')).rejects.toMatchObject({ status: 409, code: 'CONVERSATION_CLOSED' });
  await installation.longshore.close(derived('begun'));
}, 180_000);

test('an answer that waits for a person ends, and says who may allow the call and how', async () => {
  const { data, response } = await client.chat.completions.create({ model: 'asker', messages: say('Go.') }, inChat('asks')).withResponse();
  const conversationId = response.headers.get('x-longshore-conversation')!;
  const [pending] = (await installation.longshore.status(conversationId)).pendingApprovals;
  const text = data.choices[0]?.message.content ?? '';
  expect(text).toMatch(/^May I\?\n\nThe agent waits for a person to approve:\n- shell:run \(/);
  expect(text).toContain(`longshore approve ${conversationId} ${pending?.callId} allow-once, or POST /v1/approvals/${pending?.callId}`);
  await installation.longshore.approve(conversationId, { callId: pending!.callId, answer: 'allow-once' });
  expect(await installation.longshore.reply(conversationId)).toBe('Thank you.');
}, 180_000);

test('a turn that fails is an error, in a stream too, and nothing is repeated by itself', async () => {
  const before = (await installation.longshore.list()).length;
  await expect(client.chat.completions.create({ model: 'broken', messages: say('Go.') })).rejects.toMatchObject({ status: 502, code: 'TURN_FAILED' });
  const stream = await client.chat.completions.create({ model: 'broken', messages: say('Go.'), stream: true });
  const read = async () => {
    for await (const _ of stream);
  };
  await expect(read()).rejects.toThrow(/^The agent could not finish its answer \(turn_\w+\)\. An operator reads why with: longshore show conv_\w+$/);
  expect((await installation.longshore.list()).length).toBe(before + 2);
}, 180_000);

test("what cannot be done is refused in the shape of OpenAI's errors", async () => {
  const base = { model: 'talker', messages: say('Ahoy.') };
  const refused: [body: object, status: number, message: string][] = [
    [{ ...base, model: 'nobody' }, 404, 'No agent named "nobody".'],
    [{ ...base, tools: [{ type: 'function', function: { name: 'f' } }] }, 400, 'body.tools.0: "f" is no client tool of the agent.'],
    [{ ...base, n: 2 }, 400, 'body.n: it is not supported. A message has one answer. Leave this out'],
    [{ ...base, response_format: { type: 'json_object' } }, 400, 'body.response_format: it is not supported.'],
    [{ ...base, messages: [{ role: 'system', content: 'Be brief.' }, ...base.messages] }, 400, 'body.messages.0: it has instructions.'],
    [{ ...base, messages: [...base.messages, { role: 'assistant', content: 'A' }] }, 400, 'body.messages.1: its role is "assistant".'],
    [{ ...base, messages: [...base.messages, ...base.messages] }, 400, 'body.messages: they have a history, and nothing says of which conversation.'],
    [
      { ...base, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }] },
      400,
      'its data is not in base 64. Send the bytes as data:',
    ],
    [{ ...base, messages: say(' ') }, 400, 'Message refused: it is empty.'],
    [{ ...base, model: 'asker', metadata: { conversation: 'chat-1' } }, 400, 'body.model: this conversation is with "talker".'],
    [{ ...base, user: 'user-2', metadata: { conversation: 'chat-1' } }, 404, 'No conversation "chat-1".'],
  ];
  for (const [body, status, message] of refused) {
    const asked = client.chat.completions.create(body as typeof base);
    await expect(asked).rejects.toThrow(APIError);
    await asked.catch((error: APIError) => expect([error.status, error.message]).toEqual([status, expect.stringContaining(message)]));
  }
  await expect((await clientFor(['conversations:read'])).chat.completions.create(base)).rejects.toMatchObject({ status: 403, code: 'SCOPE_MISSING' });
  // A name of another tenant is one of the caller's own.
  const other = await clientFor(undefined, 'south');
  const { response } = await other.chat.completions.create(base, inChat('chat-1')).withResponse();
  expect((await installation.longshore.status(response.headers.get('x-longshore-conversation')!)).tenantId).toBe('south');
}, 180_000);
