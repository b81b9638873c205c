import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import type { Plugin } from '../../../../src/plugins/define-plugin.ts';
import { createRegistry, type Registry } from '../../../../src/plugins/registry.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';
import { hostOf, loadFixture } from '../support.ts';

let bench: Workbench;
let plugin: Plugin;
let registry: Registry;

beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 10_000, graceMs: 300 });
  plugin = await loadFixture('maibot-search', bench.isolates);
  registry = createRegistry([plugin]);
});
afterAll(() => bench[Symbol.asyncDispose]());

const toolOf = (id: string) => registry.get(`maibot-search:${id}`)!;
const call = (id: string, input: JsonObject = {}, context = contextOf('conv-1')) => toolOf(id).execute(input, context);
const header = "import { MaiBotPlugin, tool } from 'longshore/maibot';";
const hooks = 'onLoad() {} onUnload() {} onConfigUpdate() {}';

test('createPlugin() makes the plugin of a class, in a compartment, called as its package', () => {
  expect(plugin).toMatchObject({ id: 'maibot-search', version: '2.1.0', description: 'Searches and greets', dialect: 'maibot' });
  expect(toolOf('search_web')).toMatchObject({
    isolation: 'compartment',
    timeoutMs: 60_000,
    visibility: 'visible',
    brief: 'Search the internet for information',
  });
});

test('a detailed description gets the parameters appended to its end, and all of it is sent to the model', () => {
  expect(toolOf('search_web').description).toBe(
    [
      'Search the internet for information',
      '',
      'Use a search engine to find related information. Returns a list of results that best match the keywords.',
      '',
      'Parameter details:',
      '- query: string, required. Search keywords',
      '- limit: integer, optional. Maximum number of results to return. Default: 5',
    ].join('\n'),
  );
});

test('a brief description alone gets its parameters described from their schema', () => {
  expect(toolOf('get_weather').description).toBe(
    'Get weather information for a specified city\n\nParameter details:\n- city: string, required. City name\n- unit: string, optional. One of: C, F. Default: C',
  );
  expect(toolOf('everything').description).toBe(
    [
      'Takes all there is',
      '',
      'Parameter details:',
      '- ratio: number, required',
      '- count: number or null, optional. Default: null',
      '- sure: boolean, optional. Whether it is sure. Default: false',
      '- kind: string, required. One of: a, b',
      '- none: string, optional',
      '- tags: array, optional',
      '- place: object, optional',
    ].join('\n'),
  );
  expect(toolOf('intrude').description).toBe('Speaks elsewhere');
});

test('a list of ToolParameterInfo becomes a JSON Schema with every field of it', () => {
  expect(toolOf('everything').parameters).toEqual({
    type: 'object',
    properties: {
      ratio: { type: 'number' },
      count: { type: ['number', 'null'], default: null },
      sure: { type: 'boolean', description: 'Whether it is sure.', default: false },
      kind: { type: 'string', enum: ['a', 'b'] },
      none: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' } },
      place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
    },
    required: ['ratio', 'kind'],
  });
  expect(toolOf('everything').problemsOf({ ratio: 'x', kind: 'c', place: { town: 1 } })).toEqual([
    '/ratio: expected number, got string',
    '/kind: expected one of "a", "b", got "c"',
    '/place/city: missing',
    '/place/town: not known (known: city)',
  ]);
});

test('dict parameters may say of each whether it is required, and a full schema passes as it is', async () => {
  expect(toolOf('get_weather').parameters).toMatchObject({ required: ['city'], properties: { city: { type: 'string', description: 'City name' } } });
  expect(toolOf('whole').parameters).toEqual({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false });
  expect(await call('whole', { a: 4 })).toBe(8);
});

test('a handler gets its parameters by name with defaults filled in, and the ids and the message from the host, whatever the model says', async () => {
  const message = { text: 'find cats', content: [], at: '2026-01-01T00:00:00.000Z' };
  const context = contextOf('conv-1', { message: async () => message });
  const forged = { query: 'cats', stream_id: 'conv-9', user_id: 'root', message: 'forged', platform: 'x' };
  expect(await call('search_web', forged, context)).toEqual({
    results: ['cats 5'],
    said: { stream_id: 'conv-1', chat_id: 'conv-1', group_id: '', user_id: 'user-1', platform: 'longshore', message },
  });
  expect(await call('everything', { ratio: 1, kind: 'a' }, context)).toEqual(expect.arrayContaining(['count', 'sure', 'ratio', 'kind']));
  // What a tool declares itself under that name is its own.
  expect(await call('say', { message: 'mine' }, context)).toBe('mine');
});

test('stream_id, as a declared parameter, is not shown to the model, and ctx.send speaks to that stream alone', async () => {
  expect(toolOf('greet')).toMatchObject({ description: 'Greet the user', parameters: { properties: {} } });
  const context = contextOf('conv-1');
  expect(await call('greet', {}, context)).toEqual({ success: true, message: 'Replied' });
  expect(context.told).toEqual([
    'send {"type":"text","text":"Hello!"}',
    'send {"type":"image","mediaType":"image/png","data":"iVBO"}',
    'send {"type":"file","mediaType":"text/plain","name":"a.txt","data":"YQ=="}',
    'warn greeted',
  ]);
  expect(await problemOf(call('intrude', {}, context))).toBe('ctx.send: the stream "conv-other" is not the one of this call');
});

test('a handler returns an object, a text, [ok, text], content items or any JSON', async () => {
  const context = contextOf('conv-1');
  const give = (value: unknown) => call('result', { value } as JsonObject, context);
  const text = (content: string, isError: boolean) => ({ content: [{ type: 'text', text: content }], isError });
  expect(await give({ results: [1] })).toEqual({ results: [1] });
  expect(await give('plain')).toBe('plain');
  expect(await give([true, 'yes'])).toEqual(text('yes', false));
  expect(await give([false, 'no'])).toEqual(text('no', true));
  expect(await give([1, 2])).toEqual([1, 2]);
  expect(await give({ success: false, error: 'no such city' })).toEqual(text('no such city', true));
  expect(await give({ success: false, error: 'no', code: 7 })).toEqual(text('{"success":false,"error":"no","code":7}', true));
  const content_items = [
    { content_type: 'text', data: 'a chart' },
    { content_type: 'image', data: 'data:image/jpeg;base64,AAAA' },
    { content_type: 'audio', data: 'BBBB', mime_type: 'audio/ogg', uri: 'x/y.ogg' },
    { content_type: 'resource_link', uri: 'https://a.example/b' },
  ];
  expect(await give({ success: true, content: 'See:', content_items })).toEqual({
    content: [
      { type: 'text', text: 'See:' },
      { type: 'text', text: 'a chart' },
      { type: 'image', mediaType: 'image/jpeg', data: 'AAAA' },
      { type: 'file', mediaType: 'audio/ogg', name: 'y.ogg', data: 'BBBB' },
      { type: 'text', text: 'https://a.example/b' },
    ],
    isError: false,
  });
});

test('metadata is really read: visibility, timeout, permissions and annotations, and the rest is kept', async () => {
  expect(toolOf('whole')).toMatchObject({
    visibility: 'deferred',
    brief: 'Full schema',
    timeoutMs: 1234,
    permissions: { time: true },
    annotations: { readOnlyHint: true },
    metadata: { colour: 'red' },
  });
  expect(toolOf('secret').visibility).toBe('hidden');
});

test('chat scopes and allowed sessions decide in which conversations a tool is offered', async () => {
  const about = { userId: 'u', tenantId: 't', agentId: 'a' };
  const offered = async (conversationId: string) => (await plugin.selectTools!({ conversationId, ...about }))!;
  expect(await offered('conv-other')).not.toEqual(expect.arrayContaining(['private']));
  expect(await offered('conv-chosen')).toEqual(expect.arrayContaining(['private', 'search_web']));
  expect(await offered('conv-chosen')).not.toContain('groups');
});

test('a legacy action becomes a tool whose parameters are optional texts, with a deprecation warning', async () => {
  expect(toolOf('wave')).toMatchObject({
    description: 'Waves a hand\n\nParameter details:\n- how: string, optional. In which way',
    metadata: { legacyAction: true, activationType: 'keyword', activationKeywords: ['bye'] },
  });
  expect(toolOf('wave').parameters).toEqual({ type: 'object', properties: { how: { type: 'string', description: 'In which way' } } });
  const text = '"wave" is declared with @action, which is deprecated; declare wave with @tool, which knows types of parameters.';
  expect(plugin.alerts).toEqual([{ level: 'warning', text, at: expect.stringMatching(/^\d{4}-/) }]);
  const context = contextOf('conv-1');
  expect(await call('wave', { how: 'badly' }, context)).toEqual({ content: [{ type: 'text', text: 'waved badly' }], isError: true });
});

test('onLoad, onConfigUpdate and onUnload run where the tools do, in conversations that begin later too, and a refused configuration is taken back', async () => {
  const state = (conversation: string) => call('state', {}, contextOf(conversation, { env: { KEY: 'v' } }));
  await plugin.load!(hostOf({ a: 1 }));
  await plugin.updateConfig!('bot', { nick: 'x' }, '1');
  expect(await state('conv-1')).toEqual({ loads: ['loaded with {"a":1}', 'bot 1 {"nick":"x"}'], config: { a: 1 }, env: { KEY: 'v' } });
  await plugin.updateConfig!('self', { a: 2 }, '2');
  expect(await state('conv-1')).toMatchObject({ loads: expect.arrayContaining(['self 2 {"a":2}']), config: { a: 2 } });
  expect(await problemOf(plugin.updateConfig!('self', { bad: 1 }, '3'))).toBe('that will not do');
  expect(await state('conv-1')).toMatchObject({ config: { a: 2 } });
  expect(await state('conv-new')).toEqual({ loads: ['loaded with {"a":2}'], config: { a: 2 }, env: { KEY: 'v' } });
  await plugin.unload!();
  expect(bench.logged.join()).toContain('Search plugin unloaded');
});

test('a class without the mandatory hooks, with two tools of one name or with a wrong parameter is a clear error of its load', async () => {
  const problem = (name: string, body: string) =>
    problemOf(bench.load(name, `${header}\nclass P extends MaiBotPlugin { id = 'p'; ${body} }\nexport const createPlugin = () => new P();`));
  expect(await problem('bare', 'onLoad() {}')).toBe(
    'it has no onUnload, no onConfigUpdate; a MaiBot plugin has onLoad, onUnload, onConfigUpdate, even where they do nothing',
  );
  expect(await problem('twice', `${hooks} @tool('a', { description: 'A' }) a() {} @tool('a', { description: 'B' }) b() {}`)).toContain(
    'two tools have the id "a"',
  );
  expect(await problem('typed', `${hooks} @tool('a', { description: 'A', parameters: [{ name: 'x', paramType: 'date' }] }) a() {}`)).toBe(
    'tool "a": parameter "x" has the type "date"; known are string, integer, number, float, boolean, array, object',
  );
  expect(
    await problem(
      'double',
      `${hooks} @tool('a', { description: 'A', parameters: [{ name: 'x', paramType: 'string' }, { name: 'x', paramType: 'string' }] }) a() {}`,
    ),
  ).toBe('tool "a": two parameters have the name "x"');
});

test('a tsconfig.json with experimentalDecorators is an error that says so', async () => {
  await mkdir(join(bench.directory, 'legacy'), { recursive: true });
  await writeFile(join(bench.directory, 'legacy/tsconfig.json'), '{ "compilerOptions": { "experimentalDecorators": true } }');
  const source = `${header}\nclass P extends MaiBotPlugin { ${hooks} @tool('a') a() {} }\nexport const createPlugin = () => new P();`;
  expect(await problemOf(bench.load('legacy', source))).toBe('@tool("a") does not stand before a method, or tsconfig.json has experimentalDecorators');
});

test('the plugin of the guide works', async () => {
  const guide = await readFile(new URL('../../../../docs/guides/plugins.md', import.meta.url), 'utf8');
  const [, source = ''] = /```ts\n(import \{ MaiBotPlugin.*?)```/s.exec(guide) ?? [];
  const search = await bench.load('guide', source.replace('extends MaiBotPlugin {', "extends MaiBotPlugin { id = 'guide';"));
  const context = contextOf('conv-1');
  expect(await run(search, 'search', { query: 'ships' }, context)).toEqual({ results: ['ships'] });
  expect(context.told).toEqual(['send {"type":"text","text":"Searching …"}']);
});

test('two calls side by side in one conversation speak and log each for themselves', async () => {
  const source = `${header}
    class P extends MaiBotPlugin { id = 'aside'; ${hooks}
      @tool('say', { description: 'Says', parameters: { text: { type: 'string' }, ms: { type: 'number' } } })
      async say({ text, ms }) { await new Promise((go) => setTimeout(go, ms)); await this.ctx.send.text(text); this.ctx.logger.info(text); return text; } }
    export const createPlugin = () => new P();`;
  const aside = await bench.load('aside', source);
  const [slow, fast] = [contextOf('conv-1'), contextOf('conv-1')];
  await Promise.all([run(aside, 'say', { text: 'slow', ms: 60 }, slow), run(aside, 'say', { text: 'fast', ms: 1 }, fast)]);
  expect([slow.told, fast.told]).toEqual(['slow', 'fast'].map((text) => [`send {"type":"text","text":"${text}"}`, `info ${text}`]));
});

test('in the worker itself, where the operator trusts it, a class plugin works the same', async () => {
  const source = `import { MaiBotPlugin, tool } from ${JSON.stringify(new URL('../../../../src/plugins/dialects/maibot/maibot.ts', import.meta.url).pathname)};
    class P extends MaiBotPlugin { onLoad() {} onUnload() {} onConfigUpdate() {}
      async say({ stream_id }) { await this.ctx.send.text(typeof process, stream_id); return [true, 'said']; } }
    tool('say', { description: 'Says' })(P.prototype.say, { kind: 'method', name: 'say', addInitializer: (each) => { P.initialize = each; } });
    export const createPlugin = () => { const plugin = new P(); P.initialize.call(plugin); return plugin; };`;
  await mkdir(join(bench.directory, 'Trusted_One'), { recursive: true });
  await writeFile(join(bench.directory, 'Trusted_One/index.mjs'), source);
  const trusted = await loadFixture('Trusted_One', undefined, { directory: bench.directory, trusted: true });
  expect(trusted.id).toBe('trusted-one');
  const context = contextOf('conv-1');
  expect(await run(trusted, 'say', {}, context)).toEqual({ content: [{ type: 'text', text: 'said' }], isError: false });
  expect(context.told).toEqual(['send {"type":"text","text":"object"}']);
});
