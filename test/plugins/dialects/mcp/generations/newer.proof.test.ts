import type { McpProgram, McpRemote } from '../../../../../src/contracts/mcp/server.ts';
import type { PluginConversation } from '../../../../../src/plugins/api/plugin.ts';
import { failure } from '../../../../../src/contracts/errors.ts';
import type { Question } from '../../../../../src/contracts/questions/question.ts';
import type { PluginStore, ToolContext } from '../../../../../src/plugins/api/define-plugin.ts';
import { until } from '../../../../sandbox/supervisor/local-supervisor.ts';
import { memoryStore } from '../memory-store.ts';
import { newerProgram, serveNewer, type ServedNewer } from './newer-support.ts';
import { call, openBench, type Bench } from '../support.ts';

let served: ServedNewer;
let benches: Record<string, Bench>;
beforeAll(async () => {
  served = await serveNewer();
  const remote: McpRemote = { url: served.url, headers: {}, timeoutMs: 20_000, sampling: 'allow' };
  const program: McpProgram = await newerProgram({ timeoutMs: 20_000, sampling: 'allow' });
  benches = { http: await openBench(remote), program: await openBench(program) };
});
afterAll(async () => {
  for (const bench of Object.values(benches)) await bench[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const logger = { info: () => undefined, warn: () => undefined };

/** A conversation with a person who gives these answers, one after the other, and a model. */
function conversation(answers: string[] = [], store = memoryStore()) {
  const asked: [question: Question, after: number | undefined][] = [];
  const context = {
    store,
    callId: 'call_1',
    logger,
    askPerson: async (question: Question, _signal: AbortSignal, after?: number) => {
      asked.push([question, after]);
      return { action: 'accept' as const, content: { city: answers[asked.length - 1] ?? 'Oslo' } };
    },
    model: { name: 'harbour/large', ask: async () => ({ text: '3 m', reasoning: '', calls: [], usage: { inputTokens: 1, outputTokens: 1 } }) },
  } as unknown as Partial<ToolContext>;
  return { asked, context, store };
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string', title: 'City' } }, required: ['city'], additionalProperties: false };
const form = (message: string) => ({ server: 'fix', message, schema: SCHEMA, answer: {} });
const say = async (kind: string, tool: string, input: object = {}, context = conversation().context) => call(benches[kind]!, tool, input, context);

describe.each(['http', 'program'])('a server of the revision 2026-07-28 over %s', (kind) => {
  test('is talked to in that revision, and has its tools, prompts, resources and words', async () => {
    const plugin = benches[kind]!.plugin();
    expect(await say(kind, 'era')).toBe('modern');
    expect(plugin.version).toMatch(/^7\+/);
    const own = ['list_resources', 'read_resource', 'watch_resource', 'list_prompts', 'get_prompt', 'complete'];
    expect(plugin.tools.map(({ id }) => id)).toEqual(expect.arrayContaining(['ask', 'ship', ...own]));
    expect(await plugin.promptText?.({ conversationId: 'c', store: memoryStore() } as unknown as PluginConversation)).toContain('> Ask for the tide.');
  });

  test('is called; structured content is a value', async () => {
    expect(await say(kind, 'echo', { a: 1 })).toBe('{"a":1}');
    expect(await say(kind, 'measures')).toEqual({ levels: [1, 2] });
    expect(await say(kind, 'fails')).toEqual({ content: [{ type: 'text', text: 'it is broken' }], isError: true });
    expect(await say(kind, 'ship', { port: 'Zürich', cargo: 'tea' })).toBe('tea to Zürich');
  });

  test('asks a person by ending the request, which is made again with the answer', async () => {
    const { asked, context } = conversation(['Bergen']);
    expect(JSON.parse(String(await say(kind, 'ask', {}, context)))).toEqual({ where: { action: 'accept', content: { city: 'Bergen' } } });
    expect(asked).toEqual([[form('Which city?'), 0]]);
  });

  test('asks in several rounds; each question has its number in the call', async () => {
    const { asked, context } = conversation(['Oslo', 'Bergen', 'Tromsø']);
    expect(await say(kind, 'ask_twice', {}, context)).toBe('Tromsø');
    expect(asked).toEqual([[form('First city?'), 0], [form('Second city?'), 1], [form('Third city?'), 2]]); // prettier-ignore
  });

  test('asks a person to open a page, and the model for a text', async () => {
    const { asked, context } = conversation();
    expect(JSON.parse(String(await say(kind, 'ask_page', {}, context)))).toMatchObject({ page: { action: 'accept' } });
    expect(asked).toEqual([[{ server: 'fix', message: 'Pay', url: 'https://pay.example/1' }, 0]]);
    const thought = { role: 'assistant', content: { type: 'text', text: '3 m' }, model: 'harbour/large' };
    expect(JSON.parse(String(await say(kind, 'think', {}, context)))).toEqual({ thought });
  });

  test('may give back a state alone, until it has the result', async () => {
    expect(await say(kind, 'busy')).toBe('not busy any more');
  });

  test.each([
    ['endless', 'the MCP server fix asks too much during this call: it has asked 50 times'],
    ['big_state', 'the MCP server fix asks too much during this call: the state of the request has 300000 characters, and 262144 are allowed'],
    ['many', 'the MCP server fix asks too much during this call: 21 things at the same time, and 20 are allowed'],
  ])('is given no more than it may ask: %s', async (tool, message) => {
    await expect(say(kind, tool)).rejects.toThrow(message);
  });

  test('logs and reports progress during a request', async () => {
    const lines: string[] = [];
    expect(await say(kind, 'report', {}, { ...conversation().context, heartbeat: (line) => void lines.push(line) })).toBe('reported');
    expect(lines).toEqual(['half way']);
    expect(benches[kind]!.logged).toContain('an MCP server logs the lamp is dim');
  });

  test('has its resources and prompts read, page by page, and completes arguments', async () => {
    expect(await say(kind, 'list_resources')).toEqual({ resources: [{ uri: 'tide:now', name: 'now', title: 'The tide' }] });
    expect(await say(kind, 'read_resource', { uri: 'tide:now' })).toEqual({ content: [{ type: 'text', text: 'tide:now:\nlow' }] });
    expect(await say(kind, 'list_resources', { templates: true })).toEqual({ templates: [{ uriTemplate: 'tide:{place}', name: 'at' }] });
    expect(await say(kind, 'get_prompt', { name: 'plan', arguments: { town: 'Oslo' } })).toMatchObject({
      content: [{ text: 'user:' }, { text: 'Plan for Oslo' }],
    });
    expect(await say(kind, 'complete', { of: 'prompt', name: 'plan', argument: 'town' })).toEqual({ values: ['Oslo', 'Bergen'], total: 2, hasMore: false });
  });
});

test('arguments that a server wants in headers are sent there, too', async () => {
  await say('http', 'ship', { port: 'Oslo', cargo: 'tea' });
  expect(served.requests.at(-1)!.headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'ship', 'mcp-param-port': 'Oslo' });
});

test('the end of a call ends its request', async () => {
  const end = new AbortController();
  const slow = say('http', 'slow', {}, { ...conversation().context, signal: end.signal });
  await until(async () => served.shared.calls.includes('slow'));
  end.abort(failure('INTERRUPTED', { callId: 'call_1' }));
  await expect(slow).rejects.toThrow('"call_1" was interrupted');
  await until(async () => served.shared.cancelled === 1);
});

test('tools that change are listed again, and again after the stream of changes broke', async () => {
  const { http } = benches;
  served.shared.more = 1;
  served.notify.toolsChanged();
  await http!.until(({ tools }) => tools.some(({ id }) => id === 'more_0'));
  served.shared.more = 2;
  served.cut();
  await http!.until(({ tools }) => tools.some(({ id }) => id === 'more_1'));
  expect(http!.plugin().problem).toBeUndefined();
});

test('a watched resource that changes is told', async () => {
  const { http } = benches;
  const store = memoryStore();
  const context = { ...conversation([], store).context };
  expect(await say('http', 'watch_resource', { uri: 'tide:now' }, context)).toBe('It is watched.');
  const told = () => http!.plugin().promptText?.({ conversationId: 'conv_1', store } as unknown as PluginConversation);
  await told();
  await until(async () => {
    served.shared.tide = `high ${served.requests.length}`;
    served.notify.resourceUpdated('tide:now');
    return (await told())?.includes('> tide:now') === true;
  });
});

describe('a call that waits for an answer', () => {
  const mayGoOn = (store: PluginStore) =>
    benches['http']!.plugin()
      .tools.find(({ id }) => id === 'ask_twice')
      ?.mayGoOn?.('call_1', store);

  /** The worker leaves the call while a person is asked for the third time. */
  async function left(): Promise<PluginStore> {
    const { context, store } = conversation();
    const leaving = new AbortController();
    let asked = 0;
    const askPerson = async () => {
      asked += 1;
      if (asked < 3) return { action: 'accept' as const, content: { city: 'Oslo' } };
      leaving.abort(new Error('the worker stops'));
      throw leaving.signal.reason;
    };
    const before = served.shared.calls.length;
    await expect(say('http', 'ask_twice', {}, { ...context, askPerson, signal: leaving.signal })).rejects.toThrow('the worker stops');
    expect(served.shared.calls.slice(before)).toEqual(['ask_twice 0', 'ask_twice 1']);
    return store;
  }

  test('is gone on with by another worker, which asks the open question alone', async () => {
    const store = await left();
    expect(await mayGoOn(store)).toBe(true);
    await using another = await openBench({ url: served.url, headers: {}, timeoutMs: 20_000 });
    const { asked, context } = conversation(['Tromsø'], store);
    const before = served.shared.calls.length;
    expect(await call(another, 'ask_twice', {}, context)).toBe('Tromsø');
    expect(asked).toEqual([[form('Third city?'), 2]]);
    expect(served.shared.calls.slice(before)).toEqual(['ask_twice 2']);
    expect(await mayGoOn(store)).toBe(false);
  });

  test('is not gone on with by a request with other arguments, nor at another server of its name', async () => {
    const store = await left();
    await using elsewhere = await serveNewer();
    await using another = await openBench({ url: elsewhere.url, headers: {}, timeoutMs: 20_000 });
    await call(another, 'ask_twice', {}, conversation([], store).context);
    expect(elsewhere.shared.calls).toEqual(['ask_twice 0', 'ask_twice 1', 'ask_twice 2']);
    const again = await left();
    const before = served.shared.calls.length;
    await say('http', 'ask_twice', { other: true }, conversation([], again).context);
    expect(served.shared.calls.slice(before)).toEqual(['ask_twice 0', 'ask_twice 1', 'ask_twice 2']);
  });

  test('cannot go on once its request was sent again', async () => {
    const { context, store } = conversation();
    const isOpen: (boolean | undefined)[] = [];
    const watched = { ...store, delete: async (key: string) => (isOpen.push(await mayGoOn(store)), store.delete(key)) };
    await say('http', 'ask_twice', {}, { ...context, store: watched });
    expect(isOpen).toEqual([true, true]);
    expect(await mayGoOn(store)).toBe(false);
  });

  test('fails when the server wants what is not offered to it, and says so', async () => {
    await using bench = await openBench({ url: served.url, headers: {}, timeoutMs: 20_000 });
    // The library of the server asks only for what its client says that it offers.
    await expect(call(bench, 'think', {}, conversation().context)).rejects.toThrow('sampling');
  });
});
