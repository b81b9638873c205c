import { z } from 'zod';
import OpenAI from 'openai';
import { connect, type Chat, type Longshore, type RequestedClientTools } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { startProvider, chatChunks, sendEvents } from '../../models/provider-server.ts';
import { installAgents, until, type Installation } from '../support.ts';

/** Tools of clients that a request declares, in process, over HTTP and by chat completions. */
let installation: Installation;
let service: TestApi;
let remote: Longshore;
let openai: OpenAI;
let provider: Awaited<ReturnType<typeof startProvider>>;
/** Names of the tools that each request to the provider had, in their order. */
const offered: string[][] = [];
const greet = { description: 'Greets somebody.', parameters: { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] } };
const own = { own: { description: 'The agent has it.' } };

beforeAll(async () => {
  provider = await startProvider((response, { body }) => {
    offered.push(((body as { tools?: { function: { name: string } }[] }).tools ?? []).map(({ function: { name } }) => name));
    sendEvents(response, chatChunks([{ content: 'Yes.' }]));
  });
  const work = { call: 'shell:run', with: { command: 'date >> log' } };
  const twice = [{ call: 'client:greet', with: { who: 'Ann' } }, { say: 'Greeted.' }];
  installation = await installAgents({
    open: { clientToolsFromRequests: true, clientTools: own, steps: [...twice, ...twice] },
    asking: { clientToolsFromRequests: true, approval: [{ tool: 'client:*', decide: 'ask' }], steps: twice },
    keeper: { clientToolsFromRequests: true, checkpoints: 'turn', steps: [work, { say: 'One.' }, work, { say: 'Two.' }, work, { say: 'Three.' }] },
    shut: { clientTools: own, steps: [{ say: 'Hello.' }] },
    told: {
      model: 'openai-compatible/m',
      modelOptions: { baseUrl: `${provider.url}/v1` },
      clientToolsFromRequests: true,
      clientTools: own,
      tools: [],
      steps: [],
    },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  const { authorization } = await service.key();
  const apiKey = authorization.slice('Bearer '.length);
  remote = await connect({ url: service.url, apiKey });
  openai = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey });
}, 180_000);
afterAll(async () => {
  await remote?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
}, 180_000);

const start = (longshore: Longshore, agent: string, clientTools?: RequestedClientTools) =>
  longshore.start({ agent, user: 'ann', message: 'Greet.', ...(clientTools && { clientTools }) });
async function say(chat: Chat, text: string, clientTools?: RequestedClientTools): Promise<string> {
  const { turnId } = await chat.send(text, clientTools && { clientTools });
  return chat.reply(turnId);
}
const resultsOf = async (chat: Chat) =>
  (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? entry.content.map((part) => (part.type === 'text' ? part.text : '')) : []));
const declarations = async (chat: Chat) => (await chat.transcript()).map(({ entry }) => (entry.role === 'user' ? Object.keys(entry.clientTools ?? {}) : []));

test.each(['in process', 'over HTTP'])(
  'a client runs a tool that it declares with the first message, %s',
  async (where) => {
    await using chat = await start(where === 'over HTTP' ? remote : installation.longshore, 'open', {
      greet: { ...greet, output: z.object({ said: z.string() }) },
    });
    const serving = chat.tools({ greet: ({ who }) => ({ said: `Hello, ${who as string}` }) });
    expect(await chat.reply()).toBe('Greeted.');
    // The same declarations, and none: both leave the tool as it is.
    expect(await say(chat, 'Again.', { greet: { ...greet, output: z.object({ said: z.string() }) } })).toBe('Greeted.');
    expect(await resultsOf(chat)).toEqual(['{"said":"Hello, Ann"}', '{"said":"Hello, Ann"}']);
    expect((await declarations(chat)).filter((names) => names.length > 0)).toEqual([['greet']]);
    await chat.close();
    await serving;
  },
  60_000,
);

test('a message declares others from then on, and {} none; a fork has those of its place', async () => {
  const { longshore } = installation;
  await using chat = await start(longshore, 'told', { one: greet });
  await chat.reply();
  await say(chat, 'Two.', { two: greet, three: greet });
  await say(chat, 'As before.');
  await say(chat, 'None.', {});
  const names = ['client__own', 'client__three', 'client__two'];
  expect(offered.splice(0)).toEqual([['client__one', 'client__own'], names, names, ['client__own']]);
  const turns = [...new Set((await chat.transcript()).map(({ turnId }) => turnId))];
  await using fork = await chat.fork({ at: turns[1] ?? '', message: 'In a fork.' });
  expect(await fork.reply()).toBe('Yes.');
  expect(offered.splice(0)).toEqual([names]);
  await fork.close();
  await chat.close();
}, 60_000);

test('a rewind has those of its place, and the message after it may declare others', async () => {
  const { longshore, store } = installation;
  await using chat = await start(longshore, 'keeper', { one: greet });
  await chat.reply();
  await say(chat, 'Two.', { two: greet });
  const declared = async () => Object.keys((await store.transcript.clientTools(chat.id)) ?? {});
  expect(await declared()).toEqual(['two']);
  const [first] = await chat.checkpoints();
  await chat.rewind(first?.checkpointId ?? '');
  expect(await declared()).toEqual(['one']);
  await say(chat, 'Three.', { three: greet });
  expect(await declared()).toEqual(['three']);
  await chat.close();
}, 60_000);

test('rules of the agent come before a tool of a request', async () => {
  await using chat = await start(installation.longshore, 'asking', { greet });
  await until(async () => (await chat.status()).pendingApprovals.length === 1, 'a person is asked');
  expect((await installation.longshore.waitingCalls(chat)).calls).toEqual([]);
  const [asked] = (await chat.status()).pendingApprovals;
  expect(asked?.tool).toBe('client:greet');
  await chat.approve({ callId: asked?.callId ?? '', answer: 'deny' });
  expect(await chat.reply()).toBe('Greeted.');
  await chat.close();
}, 60_000);

const deep = (levels: number): object => (levels === 0 ? {} : { type: 'object', properties: { a: deep(levels - 1) } });
test.each([
  ['an agent that takes none', 'shut', { greet }, 'CLIENT_TOOLS_REFUSED', 'the agent "shut" takes none from requests'],
  ['a name of the agent', 'open', { own: greet }, 'CLIENT_TOOLS_REFUSED', '"own" is declared in the file of the agent "open"'],
  [
    'a schema that is none',
    'open',
    { greet: { ...greet, parameters: { type: 'object', properties: 7 } } },
    'CLIENT_TOOLS_REFUSED',
    'the parameters of "greet"',
  ],
  ['a name that is none', 'open', { 'a b': greet }, 'INVALID_ARGUMENT', 'clientTools.a b'],
  ['no description', 'open', { greet: {} }, 'INVALID_ARGUMENT', 'clientTools.greet.description'],
  ['a key that is unknown', 'open', { greet: { ...greet, execute: 'x' } }, 'INVALID_ARGUMENT', 'clientTools.greet'],
  ['too many', 'open', Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`t${index}`, greet])), 'INVALID_ARGUMENT', 'there are 65'],
  ['too long', 'open', { greet: { description: 'x'.repeat(70_000) } }, 'INVALID_ARGUMENT', 'characters as JSON'],
  ['a list', 'open', [greet], 'INVALID_ARGUMENT', 'clientTools'],
])(
  '%s is refused, and nothing is started',
  async (_what, agent, clientTools, code, text) => {
    for (const longshore of [installation.longshore, remote]) {
      const before = (await longshore.list({ limit: 1000 })).length;
      const refused = await start(longshore, agent, clientTools as never).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code, message: expect.stringContaining(text) as string });
      expect(await longshore.list({ limit: 1000 })).toHaveLength(before);
    }
  },
  60_000,
);

test('a schema that is too deep is refused, too, over HTTP by the limits of all bodies', async () => {
  const clientTools = { greet: { ...greet, output: deep(300) as never } };
  await expect(start(installation.longshore, 'open', clientTools)).rejects.toMatchObject({ code: 'CLIENT_TOOLS_REFUSED' });
  await expect(start(remote, 'open', clientTools)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('nor does a refused message reach its conversation', async () => {
  await using chat = await start(installation.longshore, 'shut');
  await chat.reply();
  await expect(chat.send('More.', { clientTools: { greet } })).rejects.toMatchObject({ code: 'CLIENT_TOOLS_REFUSED' });
  expect(await declarations(chat)).toHaveLength(2);
  const unattended = installation.longshore.start({ agent: 'open', user: 'ann', message: 'Go.', unattended: true, clientTools: { greet } });
  await expect(unattended).rejects.toMatchObject({ message: expect.stringContaining('an unattended conversation has no clients') as string });
  const empty = installation.longshore.start({ agent: 'open', user: 'ann', clientTools: { greet } });
  await expect(empty).rejects.toMatchObject({ message: expect.stringContaining('there is no message that they belong to') as string });
  await chat.close();
}, 60_000);

test('a program that speaks chat completions brings its own tools and gives their results', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'greet', ...greet } }];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Greet.' }];
  const { choices, id } = await openai.chat.completions.create({ model: 'open', messages, tools });
  const asked = choices[0]?.message;
  expect([id, asked?.tool_calls]).toMatchObject([expect.any(String), [{ function: { name: 'greet', arguments: '{"who":"Ann"}' } }]]);
  messages.push(asked as never, { role: 'tool', tool_call_id: asked?.tool_calls?.[0]?.id ?? '', content: 'Hello.' });
  const answer = await openai.chat.completions.create({ model: 'open', messages, tools });
  expect(answer.choices[0]?.message.content).toBe('Greeted.');
  const again = { headers: { 'idempotency-key': 'greet-1', 'x-longshore-conversation': 'greets' } };
  const once = (given: typeof tools) => openai.chat.completions.create({ model: 'open', messages: [{ role: 'user', content: 'Greet.' }], tools: given }, again);
  await once(tools);
  await expect(once([{ type: 'function', function: { name: 'other', ...greet } }])).rejects.toMatchObject({ status: 409, code: 'MESSAGE_CHANGED' });
  const refused = openai.chat.completions.create({ model: 'shut', messages: [{ role: 'user', content: 'Go.' }], tools });
  await expect(refused).rejects.toThrow('body.tools.0: "greet" is no client tool of the agent.');
}, 60_000);
