import { definePlugin } from '../../../../src/plugins/api/define-plugin.ts';
import type { PluginStore } from '../../../../src/plugins/api/tool-context.ts';
import { collisionOfNames } from '../../../../src/plugins/manager/bare-names.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { problemOf, run } from '../../isolates/support.ts';
import { CONVERSATION, mount, openTrials, toolOf } from './trials.ts';

const trials = openTrials();
const { load } = trials;

describe('registering sandbox methods', () => {
  test('methods are registered by mounting them on the plugin: with a type, and with a name and a description that are shown to people', () => {
    expect([trials.harbour.id, trials.harbour.dialect, trials.harbour.version]).toEqual(['harbour-office', 'nekro', '1.0.0']);
    expect(trials.harbour.tools.map(({ id, kind, annotations, brief }) => [id, kind, annotations.title, brief])).toEqual([
      ['my_sum_function', 'tool', 'calculate_sum', 'Calculate the sum of two numbers.'],
      ['preference', 'tool', 'preference', 'A preference of the user.'],
      ['search_kb', 'agent', 'search_knowledge_base', 'Search the knowledge base.'],
      ['send_chat_message', 'behavior', 'send_channel_message', 'Send a message.'],
      ['draw', 'multimodal_agent', 'generate_image_and_comment', 'Draw.'],
    ]);
  });

  test('the name need not be that of the function, by which code calls the method', () => {
    expect([toolOf(trials.harbour, 'my_sum_function').annotations.title, trials.harbour.tools.some(({ id }) => id === 'calculate_sum')]).toEqual([
      'calculate_sum',
      false,
    ]);
  });

  test('a plugin whose module name or author is no name is an error that tells what is usable', async () => {
    const usable = 'is not usable; letters, digits and _ are, and no digit comes first';
    expect(await problemOf(load('', "...{ moduleName: '1st' }"))).toContain(`moduleName "1st" ${usable}`);
    expect(await problemOf(load('', "...{ author: 'a b' }"))).toContain(`author "a b" ${usable}`);
  });
});

describe('what the original has and is not here', () => {
  test('is refused with what to do instead, when a plugin is loaded that uses it', async () => {
    const cases: [body: string, options: string, problem: string][] = [
      ['plugin.mountOnUserMessage(async () => {});', '', 'plugin has no mountOnUserMessage: only the agent receives messages; '],
      ['plugin.mount_sandbox_method();', '', 'plugin has no mount_sandbox_method: write mountSandboxMethod'],
      ['plugin.get_plugin_data_dir();', '', 'plugin has no get_plugin_data_dir: a plugin has no directory of the host; keep values with plugin.store, '],
      ['plugin.config.port;', '', 'plugin has no config: use plugin.getConfig() while a method runs'],
      ['plugin.mountInitMethod()(async () => {});', '', 'plugin.mountInitMethod takes the function itself: plugin.mountInitMethod(async (…) => { … })'],
      ['', "module_name: 'x'", 'NekroPlugin has no option "module_name"; there are name, moduleName, description, '],
    ];
    for (const [body, options, problem] of cases) expect(await problemOf(load(body, options))).toContain(problem);
  });

  test('options that change nothing are told as alerts, and do not keep a plugin from working', async () => {
    const plugin = await load(
      mount('/** Counts. */ async function count(ctx) { return 1; }'),
      "supportAdapter: ['onebot'], webuiPath: 'ui', url: 'https://a.example'",
    );
    expect(plugin.alerts.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      'info: the option supportAdapter changes nothing: there are no chat adapters',
      'info: the option webuiPath changes nothing: plugins have no pages of their own',
    ]);
    expect(await run(plugin, 'count')).toBe(1);
  });
});

describe('signatures', () => {
  test.each([
    ['sum', 'async function sum(ctx, a: number) { return a; }', 'in Python it means what is built in'],
    ['fetch', 'async function fetch(ctx, a: number) { return a; }', 'in JavaScript it means what is built in'],
    ['events', 'async function events(ctx, a: number) { return a; }', "in JavaScript it means Node's module"],
    ['delete', '({ async delete(ctx, a: number) { return a; } }).delete', 'in JavaScript it is a word of the language'],
  ])('a method called %s is loaded, and described by the name that means it in both languages, with a warning', async (id, method, by) => {
    const plugin = await load(mount(method));
    expect(plugin.tools.map((one) => one.id)).toEqual([id]);
    const name = `${plugin.id.replaceAll('-', '_')}_${id}`;
    const text = `the method "${id}" cannot be called by that name alone: ${by}. The instructions describe it as ${name}, by which programs call it`;
    expect(plugin.alerts.map((alert) => [alert.level, alert.text])).toContainEqual(['warning', text]);
    expect(await plugin.promptText?.(CONVERSATION)).toContain(`\n${name}(a`);
  });

  test('all sandbox methods must be asynchronous functions', async () => {
    expect(await problemOf(load(mount('function now(ctx) { return 1; }')))).toContain('the method "now" is not asynchronous; write async function now(ctx, …)');
  });

  test.each([
    ['5', 'what is mounted as "shown" is no function; write async function name(ctx, …)'],
    ['async (ctx) => 1', 'the method "shown" has no usable name; code calls it by that, so write async function name(ctx, …)'],
    ['async function lambda(ctx) {}', 'the method "lambda" cannot be called by its name: in Python it is a word of the language. Give it another name'],
    ['async function toString(ctx) {}', 'the method "toString" cannot be called by its name: in JavaScript every object has it. Give it another name'],
    ['async function tools(ctx) {}', 'the method "tools" cannot be called by its name: it means all tools. Give it another name'],
    [
      'async function __name__(ctx) {}',
      'the method "__name__" cannot be called by its name: names with __ at both ends belong to Python. Give it another name',
    ],
    ['async function go(ctx, from: number) {}', '"go" has the parameter from, which is a word of Python; give it another name'],
    ['async function go(ctx, { to }) {}', '"go" has the parameter { to }; only plain names can be called from Python'],
  ])('what code could not call is an error when it is mounted: %s', async (method, problem) => {
    expect(await problemOf(load(mount(method)))).toContain(problem);
  });

  test('kinds and options that are not known are errors, too', async () => {
    expect(await problemOf(load(mount('async function go(ctx) {}', 'TOOLS')))).toContain(
      '"shown" is mounted as undefined; there are SandboxMethodType.TOOL, .AGENT, .BEHAVIOR, .MULTIMODAL_AGENT',
    );
    expect(await problemOf(load("plugin.mountSandboxMethod('tool', 'shown', '', { readOnlyHint: true })(async function go(ctx) {});"))).toContain(
      '"shown" is mounted with the option "readOnlyHint"; there are timeoutMs, annotations, isolation, requireApproval',
    );
  });

  test('the first parameter must be the context', async () => {
    const problem = 'the first parameter of "now" has to be the context; write async function now(ctx, …)';
    expect(await problemOf(load(mount('async function now() { return 1; }')))).toContain(problem);
  });

  test('type annotations tell what each parameter is, the context left out', () => {
    expect(toolOf(trials.harbour, 'my_sum_function').parameters).toEqual({
      type: 'object',
      properties: { num1: { type: 'integer', description: 'The first addend.' }, num2: { type: 'integer', description: 'The second addend.' } },
      required: ['num1', 'num2'],
      additionalProperties: false,
    });
    expect(toolOf(trials.harbour, 'preference').parameters).toMatchObject({
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
    expect(toolOf(plugin, 'types').parameters).toEqual({
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
    const head = `types(a: "p" | "q", b: list[int], c: "x" | "y", d: list[str] = None, e: dict = {}, f: float | None = 1, g="z")\n`;
    expect(await plugin.promptText?.(CONVERSATION)).toContain(head);
    expect(await run(plugin, 'types', { a: 'p', b: [1], c: 'x' })).toEqual(['p', [1], 'x', null, {}, 1, 'z']);
  });

  test.each([
    ['Google', 'Args:\n *     mode (str): One of:\n *         fast: at once\n *     n (int, optional): How\n *         often.\n *\n * Returns:\n *     x: Y.'],
    [
      'NumPy',
      'Parameters\n * ----------\n * mode : str\n *     One of:\n *     fast: at once\n * n : int, optional\n *     How\n *     often.\n *\n * Returns\n * -------\n * x : Y',
    ],
    ['JSDoc', '@param {string} mode One of:\n *   fast: at once\n * @param {int} [n=1] - How\n *   often.\n * @returns Y'],
  ])('the comment tells types and meanings of parameters in the style of %s', async (_style, told) => {
    const plugin = await load(`/** X.\n *\n * ${told}\n */\n${mount('async function styles(ctx, mode, n = 1) { return n; }')}`);
    expect(toolOf(plugin, 'styles').parameters).toMatchObject({
      properties: { mode: { type: 'string', description: 'One of: fast: at once' }, n: { type: 'integer', description: 'How often.', default: 1 } },
      required: ['mode'],
    });
    expect(Object.keys(toolOf(plugin, 'styles').parameters['properties'] as object)).toEqual(['mode', 'n']);
  });

  test('arguments are checked before the method is called, and a parameter called user_id is its own', async () => {
    const registered = createRegistry([await load(mount('async function of_user(ctx, user_id: string) { return user_id; }'))]).get('trial:of_user')!;
    expect(registered.problemsOf({ user_id: 1 })).toEqual(['/user_id: expected string, got number']);
    expect(registered.accept({ user_id: 'u' })).toEqual({ user_id: 'u' });
  });

  test('does not let names collide silently: two plugins with a method of one name are an error that names both', () => {
    const other = definePlugin({ ...trials.harbour, id: 'other' });
    const source = { agents: ['captain'] };
    expect(collisionOfNames({ plugin: other, source }, [{ plugin: trials.harbour, source }])?.message).toBe(
      'Plugin "other": its method "my_sum_function" has the same name as one of the plugin "harbour-office", and agent "captain" has both. ' +
        'Code calls methods by their names alone: rename one of them, take one plugin out of the agent, or disable one: longshore plugins disable harbour-office',
    );
  });
});

describe('a plugin with a sleepBrief', () => {
  const SLEEPS = "sleepBrief: 'Keeps count of ships.'";
  const body = `/** Counts ships.
 *
 * Args:
 *     port (str): Where. */
${mount('async function count(ctx, port) { return 1; }')}
plugin.mountPromptInject(async () => 'Two ships are due.');`;

  test('is described by it and by the names of its methods alone, unless allowSleep is false', async () => {
    const asleep = await load(body, SLEEPS);
    expect(await asleep.promptText?.(CONVERSATION)).toBe(`<plugin name="Trial">
Keeps count of ships.

Python and JavaScript code that you run in the sandbox may call these functions by their names, without an import:

count(port: str)
What one of them does is printed by help(…) in Python; read that before you call it.
</plugin>`);
    expect(toolOf(asleep, 'count').description).toContain('Where.');
    const awake = await load(body, `${SLEEPS}, allowSleep: false`);
    expect(await awake.promptText?.(CONVERSATION)).toMatch(/^<plugin name="Trial">\nTwo ships are due\.\n\nPython [^]*Where\.\n<\/plugin>$/);
  });

  test('has its methods deferred behind it where they are for the model, too', async () => {
    const plugin = await load(body, `${SLEEPS}, visibility: 'visible'`);
    expect([plugin.brief, toolOf(plugin, 'count').visibility]).toEqual(['Keeps count of ships.', 'deferred']);
    expect(await plugin.promptText?.(CONVERSATION)).toBe('<plugin name="Trial">\nTwo ships are due.\n</plugin>');
  });
});

describe('the other mounts', () => {
  test('the methods of a conversation are collected for it, one that was never mounted is an error, and a text is made for each step', async () => {
    const plugin = await load(`async function one(ctx) { return 1; }
${mount('one')}
${mount('async function two(ctx) { return 2; }')}
plugin.mountCollectMethods(async (ctx) => (ctx.userId === 'user-1' ? [one] : ['three']));
let asked = 0;
plugin.mountPromptInject(async (ctx) => 'You speak with ' + ctx.userId + ' for the ' + (asked += 1) + '. time.');`);
    expect(await plugin.selectTools?.(CONVERSATION)).toEqual(['one']);
    const text = await plugin.promptText?.(CONVERSATION);
    expect(text).toContain('You speak with user-1 for the 1. time.');
    expect(await plugin.promptText?.(CONVERSATION)).toContain('for the 2. time.');
    expect(text).not.toContain('two()');
    expect(await problemOf(plugin.selectTools!({ ...CONVERSATION, userId: 'user-2' }))).toBe('the method "three" was collected, but never mounted');
  });

  test('what is collected and injected may depend on what is stored, and on nothing else of a call', async () => {
    const plugin = await load(`${mount('async function one(ctx) { return 1; }')}
${mount('async function two(ctx) { return 2; }')}
plugin.mountCollectMethods(async (ctx) => [await plugin.store.get({ chatKey: ctx.chatKey, storeKey: 'chosen' })]);
plugin.mountPromptInject(async (ctx) => 'The tide is ' + (await ctx.store.get({ userKey: ctx.userId, storeKey: 'tide' })) + (ctx.sendText ? '!' : '.'));`);
    const values: Record<string, string> = { 'conversation chosen': 'two', 'user tide': 'low' };
    const get = async (key: string, scope?: string) => values[`${scope} ${key}`];
    const conversation = { ...CONVERSATION, store: { get } as unknown as PluginStore };
    expect(await plugin.selectTools?.(conversation)).toEqual(['two']);
    expect(await plugin.promptText?.(conversation)).toMatch(/^<plugin name="Trial">\nThe tide is low\.\n[^]*two\(\)/);
    expect(await problemOf(plugin.selectTools!(CONVERSATION))).toBe('there is no store here');
  });

  test('a text that cannot be made leaves the methods described', async () => {
    const plugin = await load(`/** Counts. */ ${mount('async function count(ctx) { return 1; }')}
plugin.mountPromptInject(async () => { throw new Error('no tide'); });`);
    expect(await plugin.promptText?.(CONVERSATION)).toContain('count()\nCounts.');
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
