import { readFile } from 'node:fs/promises';
import { definePlugin, type Plugin } from '../../../../src/plugins/define-plugin.ts';
import { checkNekroPlugin } from '../../../../src/plugins/dialects/nekro/check-loaded.ts';
import { createRegistry } from '../../../../src/plugins/registry.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';

const FIXTURE = new URL('../../../e2e/fixtures/harbour/index.ts', import.meta.url);
const CONVERSATION = { conversationId: 'conv-1', userId: 'user-1', tenantId: 'tenant-1', agentId: 'agent-1' };

let bench: Workbench;
let harbour: Plugin;
beforeAll(async () => {
  bench = await openWorkbench();
  harbour = await bench.load('harbour', (await readFile(FIXTURE, 'utf8')).replace(/'[^']*nekro-plugin\.ts'/, "'longshore/nekro'"));
});
afterAll(() => bench[Symbol.asyncDispose]());

const source = (body: string, options = '') => `import { NekroPlugin, SandboxMethodType } from 'longshore/nekro';
const plugin = new NekroPlugin({ name: 'Trial', moduleName: 'trial', description: '', version: '1', author: 'me', ${options} });
${body}
export default plugin;`;
const mount = (method: string, kind = 'TOOL') => `plugin.mountSandboxMethod(SandboxMethodType.${kind}, 'shown', 'About it.')(${method});`;
let loads = 0;
const load = (body: string, options = '') => bench.load(`trial-${(loads += 1)}`, source(body, options));
const tool = (plugin: Plugin, id: string) => plugin.tools.find((one) => one.id === id)!;

describe('registering sandbox methods', () => {
  test('methods are registered by mounting them: type, name for people, description', () => {
    expect([harbour.id, harbour.dialect, harbour.version]).toEqual(['harbour-office', 'nekro', '1.0.0']);
    expect(harbour.tools.map(({ id, kind, annotations }) => [id, kind, annotations.title])).toEqual([
      ['my_sum_function', 'tool', 'calculate_sum'],
      ['preference', 'tool', 'preference'],
      ['search_kb', 'agent', 'search_knowledge_base'],
      ['send_chat_message', 'behavior', 'send_channel_message'],
      ['draw', 'multimodal_agent', 'generate_image_and_comment'],
    ]);
  });

  test('all sandbox methods must be asynchronous functions', async () => {
    expect(await problemOf(load(mount('function now(ctx) { return 1; }')))).toContain('the method "now" is not asynchronous; write async function now(ctx, …)');
  });

  test('the first parameter must be the context', async () => {
    const problem = 'the first parameter of "now" has to be the context; write async function now(ctx, …)';
    expect(await problemOf(load(mount('async function now() { return 1; }')))).toContain(problem);
  });

  test('clear type annotations are an important basis for the parameters', () => {
    expect(tool(harbour, 'my_sum_function').parameters).toEqual({
      type: 'object',
      properties: { num1: { type: 'integer', description: 'The first addend.' }, num2: { type: 'integer', description: 'The second addend.' } },
      required: ['num1', 'num2'],
      additionalProperties: false,
    });
    expect(tool(harbour, 'preference').parameters).toMatchObject({
      properties: { preference_key: { type: 'string' }, value: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null } },
      required: ['preference_key'],
    });
  });

  test('types are those of TypeScript, or of the comment, which may be written as in Python', async () => {
    const plugin = await load(`/** X.
 * Args:
 *   b (List[int]): Many
 *     of them.
 *   c (Literal["x", "y"]): One.
 */
${mount(`async function types(ctx, a: 'p' | 'q', b, c, d?: string[], e: Record<string, number> = {}, f: number | null = 1, g = 'z') { return [a, b, c, d, e, f, g]; }`)}`);
    expect(tool(plugin, 'types').parameters).toEqual({
      type: 'object',
      properties: {
        a: { enum: ['p', 'q'] },
        b: { type: 'array', items: { type: 'integer' }, description: 'Many of them.' },
        c: { enum: ['x', 'y'], description: 'One.' },
        d: { type: 'array', items: { type: 'string' } },
        e: { type: 'object', default: {} },
        f: { anyOf: [{ type: 'number' }, { type: 'null' }], default: 1 },
        g: { default: 'z' },
      },
      required: ['a', 'b', 'c'],
      additionalProperties: false,
    });
    expect(await run(plugin, 'types', { a: 'p', b: [1], c: 'x' })).toEqual(['p', [1], 'x', null, {}, 1, 'z']);
  });

  test('arguments are checked before the method is called, and a parameter called user_id is its own', async () => {
    const registered = createRegistry([await load(mount('async function of_user(ctx, user_id: string) { return user_id; }'))]).get('trial:of_user')!;
    expect(registered.problemsOf({ user_id: 1 })).toEqual(['/user_id: expected string, got number']);
    expect(registered.accept({ user_id: 'u' })).toEqual({ user_id: 'u' });
  });

  test('two plugins with a method of one name are an error that names both', () => {
    const other = definePlugin({ ...harbour, id: 'other' });
    expect(() => checkNekroPlugin('./b', other, [{ name: './a', plugin: harbour }])).toThrow('Two plugins provide "my_sum_function": ./a and ./b. Rename one.');
  });
});

describe('the doc comment', () => {
  test('with summary, Args, Returns and Example becomes the text that the model reads, wherever it stands', async () => {
    const text = await harbour.promptText?.(CONVERSATION);
    expect(text).toMatch(/^<plugin name="Harbour">\nPython and JavaScript code/);
    expect(text).toContain('my_sum_function(num1, num2)\nCalculate and return the sum of two integers.\n\nArgs:\n    num1 (int): The first addend.');
    expect(text).toContain('Example:\n    theme = preference(preference_key="theme")');
    expect(text).toContain('search_kb(query) — the program ends at this call\nSearches the knowledge base.');
    expect(text).toContain('draw(topic) — the program ends at this call\nDraws a topic.');
    expect(tool(harbour, 'send_chat_message').description).toBe('Sends a text to the user.');
  });

  test('that is missing is told as an alert; the method can be called', async () => {
    const plugin = await load(mount('async function quiet(ctx) { return 1; }'));
    expect(plugin.alerts.map(({ text }) => text)).toEqual(['the method "quiet" has no doc comment, so the model is told little about it']);
    expect(await run(plugin, 'quiet')).toBe(1);
  });
});

describe('the types of methods', () => {
  test('TOOL gives any JSON value, and nothing is null', async () => {
    expect(await run(harbour, 'my_sum_function', { num1: 2, num2: 3 })).toBe(5);
    expect(await run(await load(mount('async function none(ctx) {}')), 'none')).toBeNull();
  });

  test('AGENT and BEHAVIOR give a text', async () => {
    expect(await run(harbour, 'search_kb', { query: 'tides' })).toBe("No information related to 'tides' was found in the knowledge base.");
    const context = contextOf('conv-1');
    expect(await run(harbour, 'send_chat_message', { text_to_send: 'Ahoy' }, context)).toBe("Message 'Ahoy' has been sent.");
    expect(context.told).toEqual(['send "Ahoy"']);
  });

  test('MULTIMODAL_AGENT gives message parts as OpenAI defines them', async () => {
    expect(await run(harbour, 'draw', { topic: 'boats' })).toEqual({
      content: [
        { type: 'text', text: "This is an image about 'boats'." },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    });
    const wrong = await load(mount('async function wrong(ctx) { return { type: "video" }; }', 'MULTIMODAL_AGENT'));
    expect(await problemOf(run(wrong, 'wrong'))).toContain('it returned a part of type "video" that cannot be shown');
  });

  test('a method that fails is an error with its message, and never the text "None"', async () => {
    const plugin = await load(mount('async function fails(ctx) { throw new Error("the tide is out"); }', 'AGENT'));
    expect(await problemOf(run(plugin, 'fails'))).toBe('the tide is out');
  });
});

describe('the context', () => {
  test('has the conversation and really the user', async () => {
    const plugin = await load(mount('async function who(ctx) { return [ctx.chatKey, ctx.fromChatKey, ctx.userId, ctx.fromUserId]; }'));
    expect(await run(plugin, 'who')).toEqual(['conv-1', 'conv-1', 'user-1', 'user-1']);
  });

  test('forwards URLs, data URLs, bytes and files of the host, and fetches files of the sandbox', async () => {
    const put: unknown[] = [];
    const files = { put: async (...given: unknown[]) => (put.push(given), '/home/user/files/x'), get: async (path: string) => new TextEncoder().encode(path) };
    const plugin = await load(
      mount(`async function forward(ctx) {
        for (const from of ['https://a.example/b.png', 'data:text/plain;base64,aGk=', new Uint8Array([1]), 'host.txt']) await ctx.fs.mixedForwardFile(from, 'n');
        return new TextDecoder().decode(await ctx.fs.getFile('../../etc/passwd'));
      }`),
    );
    // What a path may reach is the sandbox's to say: it is opened there, by its user.
    expect(await run(plugin, 'forward', {}, contextOf('conv-1', { files }))).toBe('../../etc/passwd');
    expect(put.map((given) => (given as unknown[])[0])).toMatchObject([
      { url: 'https://a.example/b.png' },
      { name: 'n' },
      { name: 'n' },
      { hostPath: 'host.txt' },
    ]);
  });

  test('pushes notes for the model; a BEHAVIOR sets off no step', async () => {
    const body = 'async function push(ctx) { await ctx.pushSystem("low water"); await ctx.pushSystem("now", { triggerAgent: true }); return "told"; }';
    const context = contextOf('conv-1');
    expect(await run(await load(mount(body, 'AGENT')), 'push', {}, context)).toBe('told');
    expect(context.told).toEqual(['note low water', 'note now']);
    expect(await problemOf(run(await load(mount(body, 'BEHAVIOR')), 'push'))).toBe(
      'a BEHAVIOR method sets off no step of the model; mount it as AGENT to do that',
    );
  });

  test('the store keeps values by conversation and user, and only its own', async () => {
    const scopes: unknown[] = [];
    const store = {
      set: async (...given: unknown[]) => (scopes.push(given), ['created', 'updated', 'conflict'][scopes.length - 1]),
      delete: async () => scopes.length > 4,
      get: async () => undefined,
    };
    const plugin = await load(
      mount(`async function keep(ctx, userKey: string, chatKey = '') {
        const set = await plugin.store.set({ userKey, chatKey, storeKey: 'k', value: { n: 1 }, ttlMs: 5, ifVersion: 0 });
        return [set, await plugin.store.delete({ storeKey: 'k' })];
      }`),
    );
    const keep = (input: object) => run(plugin, 'keep', input, contextOf('conv-1', { store: store as never }));
    expect([await keep({ userKey: 'user-1' }), await keep({ userKey: '', chatKey: 'conv-1' }), await keep({ userKey: 'user-1', chatKey: 'conv-1' })]).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(scopes.map((given) => (given as [unknown, unknown, { scope: string }])[2].scope)).toEqual(['user', 'conversation', 'conversation-user']);
    expect(await problemOf(keep({ userKey: 'user-2' }))).toBe('the store has no entries of another user ("user-2") for this one');
    expect(await problemOf(keep({ userKey: '', chatKey: 'conv-2' }))).toBe('the store has no entries of another conversation ("conv-2") for this one');
  });
});

describe('the other mounts', () => {
  test('the methods of a conversation are collected for it, and one that was never mounted is an error', async () => {
    const plugin = await load(`async function one(ctx) { return 1; }
${mount('one')}
${mount('async function two(ctx) { return 2; }')}
plugin.mountCollectMethods(async (ctx) => (ctx.userId === 'user-1' ? [one] : ['three']));
plugin.mountPromptInject(async (ctx) => 'You speak with ' + ctx.userId + '.');`);
    expect(await plugin.selectTools?.(CONVERSATION)).toEqual(['one']);
    const text = await plugin.promptText?.(CONVERSATION);
    expect(text).toContain('You speak with user-1.');
    expect(text).not.toContain('two()');
    expect(await problemOf(plugin.selectTools!({ ...CONVERSATION, userId: 'user-2' }))).toBe('the method "three" was collected, but never mounted');
  });

  test('init and cleanup are the load and unload of the plugin', async () => {
    const plugin = await load(`let state = 'new';
plugin.mountInitMethod(async ({ config }) => { state = 'loaded ' + config.port; });
plugin.mountCleanupMethod(async () => { state = 'unloaded'; });
${mount('async function now(ctx) { return state; }')}`);
    await plugin.load?.({ env: {}, config: { port: 7 }, logger: { info: () => {}, warn: () => {} } });
    expect(await run(plugin, 'now')).toBe('loaded 7');
    await plugin.unload?.();
    expect(await run(plugin, 'now')).toBe('unloaded');
  });
});
