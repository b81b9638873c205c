import type { PluginStore, ToolContext } from '../../../../src/plugins/api/define-plugin.ts';
import type { PluginConversation } from '../../../../src/plugins/api/plugin.ts';
import { createGuestCaller } from '../../../../src/plugins/dialects/mcp/call-guest.ts';
import { createListsOfConversations } from '../../../../src/plugins/dialects/mcp/lists-of-conversations.ts';
import { until } from '../../../sandbox/supervisor/local-supervisor.ts';
import { createLively, type Lively } from './lively-server.ts';
import { memoryStore } from './memory-store.ts';
import { call, openBench, serveFixture, type Bench, type ServedFixture } from './support.ts';

const NORTH = 'tide://north';
const TOLD = `Resources of the MCP server fix that you watch have changed since you read them. Read them again where that matters:\n> ${NORTH}`;

let lively: Lively;
let served: ServedFixture;
let bench: Bench;
let store: PluginStore;
beforeEach(async () => {
  lively = createLively();
  served = await serveFixture(0, lively.create);
  bench = await openBench({ url: served.url, headers: {}, timeoutMs: 10_000 });
  store = memoryStore();
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const watch = (input: object = {}, at = bench) => call(at, 'watch_resource', { uri: NORTH, ...input }, { store });
const step = (conversationId = 'conv_1', own = store, at = bench) => at.plugin().promptText?.({ conversationId, store: own } as PluginConversation);
const times = (what: string) => lively.asked.filter((asked) => asked === what).length;

test('a resource that a conversation watches and that changes is told in each step until it is read', async () => {
  expect(await watch()).toBe('It is watched.');
  expect(await step()).toBeUndefined();
  await until(async () => times(`subscribe ${NORTH}`) === 2);
  lively.change(NORTH, 'low');
  await until(async () => (await step()) !== undefined);
  expect(await step()).toBe(TOLD);
  expect(await step('conv_2', memoryStore())).toBeUndefined();
  expect(await call(bench, 'read_resource', { uri: NORTH }, { store })).toEqual({ content: [{ type: 'text', text: `${NORTH}:\nlow` }] });
  expect(await step()).toBeUndefined();
  // The connection follows it already; the model has read it.
  expect(times(`subscribe ${NORTH}`)).toBe(3);
});

test('what changed while no worker heard of it is found by its content, over the next connection', async () => {
  await watch();
  lively.change(NORTH, 'low');
  await using another = await openBench({ url: served.url, headers: {}, timeoutMs: 10_000 });
  await until(async () => (await step('conv_1', store, another)) === TOLD);
});

test('a resource that nobody watches any more is left to its server', async () => {
  await watch();
  await step();
  await until(async () => times(`subscribe ${NORTH}`) === 2);
  expect(await watch({ stop: true })).toBe('It is watched no longer.');
  expect(await watch({ stop: true })).toBe('It was not watched.');
  await step();
  await until(async () => times(`unsubscribe ${NORTH}`) === 1);
  expect(await step()).toBeUndefined();
});

test('a conversation watches a limited number of resources, and nothing that the server does not have', async () => {
  await expect(watch({ uri: 'tide://none' })).rejects.toThrow('there is no tide://none');
  for (let number = 1; number <= 20; number += 1) {
    lively.change(`tide://${number}`, 'high');
    await watch({ uri: `tide://${number}` });
  }
  await expect(watch()).rejects.toThrow('20 resources of this server are watched, which is the limit; stop watching one of them');
  expect(await watch({ uri: 'tide://7' })).toBe('It is watched.');
});

test('that lists of resources and prompts have changed is told to operators', async () => {
  await lively.listsChange();
  await bench.until(() => bench.logged.length >= 2);
  expect(bench.logged.toSorted()).toEqual(['the prompts of an MCP server have changed', 'the resources of an MCP server have changed']);
});

test('values for arguments of prompts and templates are asked of the server', async () => {
  expect(await call(bench, 'complete', { of: 'prompt', name: 'plan', argument: 'to', value: 'Os', known: { from: 'Bergen' } })).toEqual({
    values: ['plan/to=Os', '{"from":"Bergen"}'],
    total: 7,
    hasMore: true,
  });
  expect(await call(bench, 'complete', { of: 'resource', name: 'tide://{place}', argument: 'place' })).toMatchObject({
    values: ['tide://{place}/place=', '{}'],
  });
});

describe('in the sandbox', () => {
  const CONVERSATION = { conversationId: 'conv_1', tenantId: 't', userId: 'u', agentId: 'a' };
  /** A server in a sandbox, and its conversation's look at it before a step. */
  function guest(marks: string[]) {
    let text = 'high';
    const asked: string[] = [];
    const parts = {
      name: 'fix',
      program: () => ({}) as never,
      common: () => bench.plugin(),
      withTools: () => bench.plugin(),
      log: { info() {}, warn() {} } as never,
    };
    const lists = createListsOfConversations({
      ...parts,
      store: { entry: (_shelf, key) => store.entry(key), set: (_shelf, key, value, options) => store.set(key, value, options) },
    });
    const sandbox = {
      serverMark: async () => marks.shift() ?? 'last',
      callServer: async (_program: unknown, { method }: { method: string }) => {
        asked.push(method);
        if (method === 'resources/read' && text === '') return { outcome: 'refused', code: -32_002, message: 'gone' };
        return { outcome: 'answered', result: method === 'tools/list' ? { tools: [] } : { contents: [{ text }] }, server: { version: '1' } };
      },
      forget: async () => undefined,
    };
    return { asked, become: (next: string) => void (text = next), look: () => lists.lookInto(CONVERSATION, sandbox as never, async () => undefined) };
  }

  test('watched resources are compared when the server has reported something, or was started again', async () => {
    const { asked, become, look } = guest(['one', 'one', 'two', 'three']);
    await call(bench, 'watch_resource', { uri: NORTH }, { store });
    become('high');
    await look();
    expect(asked).toEqual(['resources/subscribe', 'resources/read', 'tools/list']);
    await look();
    expect(asked).toHaveLength(3);
    await call(bench, 'read_resource', { uri: NORTH }, { store });
    become('low');
    await look();
    expect(await step()).toBe(TOLD);
  });

  test('a server that a call finds started anew has all that is watched read and subscribed to again', async () => {
    await call(bench, 'watch_resource', { uri: NORTH }, { store });
    const notes: string[] = [];
    const run = createGuestCaller({ name: 'fix', server: { timeoutMs: 10_000 } as never, program: () => ({}) as never });
    const callServer = async (_program: unknown, _request: unknown, { onRestart }: { onRestart: (why: string) => Promise<void> }) => {
      await onRestart('it had ended');
      return { outcome: 'answered', result: {}, server: {} };
    };
    const context = { sandbox: { callServer }, store, note: async (text: string) => void notes.push(text) } as unknown as ToolContext;
    await run({ name: 'go', run: (_input, ask) => ask({ method: 'tools/call', params: {} }) }).execute({}, context);
    expect(notes).toEqual(['The MCP server fix is started again, since it had ended: what it had in its memory is gone.']);
    expect(await step()).toBe(TOLD);
    // Here, the step has a connection that follows it, too.
    await until(async () => times(`subscribe ${NORTH}`) === 2);
    await call(bench, 'read_resource', { uri: NORTH }, { store });
    expect(times(`subscribe ${NORTH}`)).toBe(3);
    expect(await step()).toBeUndefined();
  });

  test('what cannot be read any more counts as changed', async () => {
    const { become, look } = guest(['one']);
    await call(bench, 'watch_resource', { uri: NORTH }, { store });
    become('');
    await look();
    expect(await step()).toBe(TOLD);
  });
});
