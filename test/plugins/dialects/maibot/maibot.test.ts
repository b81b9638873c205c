import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import type { Json, JsonObject } from '../../../../src/contracts/json.ts';
import { createToolsPlugin } from '../../../../src/plugins/builtin/tools.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { ToolParameterInfo, ToolParamType, type ToolParameterFields } from '../../../../src/plugins/dialects/maibot/maibot.ts';
import { schemaOf } from '../../../../src/plugins/dialects/maibot/parameters.ts';
import { createRegistry, type Registry } from '../../../../src/plugins/registry/registry.ts';
import { createCompiler } from '../../../../src/plugins/registry/validate-arguments.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';

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
const agent = defineAgent({ id: 'reader', model: 'openai/none', tools: ['*'] });
/** What a model is shown. */
const shown = (over: number) => showOffer({ agent: { ...agent, deferTools: { over, pin: [] } }, available: registry.tools, texts: [] }, registry, []);
const text = (content: string, isError = false) => ({ content: [{ type: 'text', text: content }], isError });

const header = "import { MaiBotPlugin, tool, workflowStep } from 'longshore/maibot';";
const hooks = 'onLoad() {} onUnload() {} onConfigUpdate() {}';
const problemOfClass = (name: string, body: string) =>
  problemOf(bench.load(name, `${header}\nclass P extends MaiBotPlugin { id = 'p'; ${body} }\nexport const createPlugin = () => new P();`));

describe('the decorator', () => {
  test('a model calls a tool by the name in its decorator, under the id of the plugin', () => {
    expect(toolOf('search_web').alias).toBe('maibot-search__search_web');
    expect(shown(99).tools.map(({ name }) => name)).toContain('maibot-search__search_web');
  });

  test('a name is unique within the plugin', async () => {
    const twice = `${hooks} @tool('a', { description: 'A' }) a() {} @tool('a', { description: 'B' }) b() {}`;
    expect(await problemOfClass('twice', twice)).toContain('two tools have the id "a"');
  });

  test('a name is all that a tool needs; without a description the model is shown the name, and an alert says so', async () => {
    expect(toolOf('bare')).toMatchObject({ description: 'bare', parameters: { type: 'object', properties: {} } });
    expect(plugin.alerts.map((alert) => alert.text)).toContain('"bare" has no description, so a model has to judge it by its name.');
    expect(await call('bare')).toBe('done');
  });

  test('it stands before public methods alone, and is that of the language', async () => {
    const place = 'stands before a static or private method; tools are public methods of the plugin';
    expect(await problemOfClass('static', `${hooks} @tool('a') static a() {}`)).toBe(`@tool("a") ${place}`);
    expect(await problemOfClass('private', `${hooks} @tool('a') #a() {}`)).toBe(`@tool("a") ${place}`);
    await mkdir(join(bench.directory, 'legacy'), { recursive: true });
    await writeFile(join(bench.directory, 'legacy/tsconfig.json'), '{ "compilerOptions": { "experimentalDecorators": true } }');
    expect(await problemOfClass('legacy', `${hooks} @tool('a') a() {}`)).toBe(
      '@tool("a") does not stand before a method, or tsconfig.json has experimentalDecorators',
    );
  });

  test('description is the older name of the brief description, which wins where both are given', () => {
    expect(toolOf('get_weather').brief).toBe('Get weather information for a specified city');
    expect(toolOf('both')).toMatchObject({ brief: 'The newer text', description: 'The newer text' });
  });

  test('the brief description is what a model judges a deferred tool by', () => {
    const search = '- maibot-search:search_web: Search the internet for information';
    const { tools, instructions } = showOfferWithSearch();
    expect(instructions.split('\n')).toContain(search);
    expect(tools.map(({ tool }) => tool)).toEqual(['tools:search']);
  });

  test('the rest of the decorator is metadata: visibility, timeout, permissions and annotations are obeyed, all of it is kept', () => {
    expect(toolOf('whole')).toMatchObject({
      visibility: 'deferred',
      brief: 'Full schema',
      timeoutMs: 1234,
      permissions: { time: true },
      annotations: { readOnlyHint: true },
      metadata: { colour: 'red' },
    });
  });
});

test('metadata that cannot be meant is an error that names the tool, so that no slip offers one where it should not be', async () => {
  const saying = (metadata: string) => problemOfClass('slip', `${hooks} @tool('a', { description: 'A', ${metadata} }) a() {}`);
  expect(await saying(`chatScope: 'gruop'`)).toBe('tool "a" has the chatScope "gruop"; known are all, group and private');
  expect(await saying(`allowedSession: 'conv-1'`)).toBe(`tool "a" has an allowedSession that is no list of conversations' ids`);
  expect(await saying(`visibility: 'secret'`)).toBe('Plugin "p": tool "a" has a visibility that is none of visible, deferred and hidden. Correct that tool');
});

describe('the definition of parameters', () => {
  test('a list of ToolParameterInfo becomes the JSON Schema of an object; plain objects with its fields do as well', () => {
    expect(toolOf('search_web').parameters).toEqual({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Search keywords' },
        limit: { type: 'integer', description: 'Maximum number of results to return', default: 5 },
      },
      required: ['query'],
    });
    const fields: ToolParameterFields = { name: 'query', paramType: ToolParamType.STRING };
    expect(schemaOf([fields])).toEqual(schemaOf([new ToolParameterInfo(fields)]));
  });

  test('a dict of JSON Schemas is taken too; a parameter of it is optional unless it says that it is required', () => {
    expect(toolOf('get_weather').parameters).toEqual({
      type: 'object',
      properties: { city: { type: 'string', description: 'City name' }, unit: { type: 'string', enum: ['C', 'F'], default: 'C' } },
      required: ['city'],
    });
  });

  test('the JSON Schema of a whole object passes as it is, with and without named properties', async () => {
    expect(toolOf('whole').parameters).toEqual({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false });
    expect(await call('whole', { a: 4 })).toBe(8);
    expect(toolOf('both').parameters).toEqual({ type: 'object', additionalProperties: true });
  });

  test('a parameter that cannot be meant is an error that names tool and parameter', async () => {
    const list = (parameters: string) => `${hooks} @tool('a', { description: 'A', parameters: ${parameters} }) a() {}`;
    expect(await problemOfClass('typed', list(`[{ name: 'x', paramType: 'date' }]`))).toBe(
      'tool "a": parameter "x" has the type "date"; known are string, integer, number, float, boolean, array, object',
    );
    expect(await problemOfClass('double', list(`[{ name: 'x', paramType: 'string' }, { name: 'x', paramType: 'string' }]`))).toBe(
      'tool "a": two parameters have the name "x"',
    );
    expect(await problemOfClass('plain', list(`{ x: 'string' }`))).toBe('tool "a": parameter "x" is no JSON Schema');
  });
});

describe('the fields of ToolParameterInfo', () => {
  const { ARRAY, OBJECT, STRING } = ToolParamType;
  const rows: [statement: string, fields: Omit<ToolParameterFields, 'name'>, schema: JsonObject, required: boolean][] = [
    ['paramType is its type', { paramType: STRING }, { type: 'string' }, true],
    ['description is its description', { paramType: STRING, description: 'What' }, { type: 'string', description: 'What' }, true],
    ['required is true where it is left out', { paramType: STRING }, { type: 'string' }, true],
    ['required may be false', { paramType: STRING, required: false }, { type: 'string' }, false],
    ['enumValues are all that it may be', { paramType: STRING, enumValues: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }, true],
    ['an empty list of enumValues limits nothing', { paramType: STRING, enumValues: [] }, { type: 'string' }, true],
    ['default is its default', { paramType: STRING, required: false, default: 'a' }, { type: 'string', default: 'a' }, false],
    ['a default may be null', { paramType: STRING, required: false, default: null }, { type: ['string', 'null'], default: null }, false],
    ['itemsSchema describes elements', { paramType: ARRAY, itemsSchema: { type: 'string' } }, { type: 'array', items: { type: 'string' } }, true],
    ['itemsSchema counts for arrays alone', { paramType: STRING, itemsSchema: { type: 'string' } }, { type: 'string' }, true],
    [
      'properties describe fields',
      { paramType: OBJECT, properties: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string' } } },
      true,
    ],
    ['requiredProperties have to be there', { paramType: OBJECT, requiredProperties: ['a'] }, { type: 'object', required: ['a'] }, true],
    ['additionalProperties may be refused', { paramType: OBJECT, additionalProperties: false }, { type: 'object', additionalProperties: false }, true],
    [
      'additionalProperties may be described',
      { paramType: OBJECT, additionalProperties: { type: 'number' } },
      { type: 'object', additionalProperties: { type: 'number' } },
      true,
    ],
  ];

  test.each(rows)('%s', (_, fields, schema, required) => {
    expect(schemaOf([{ name: 'x', ...fields }])).toEqual({ type: 'object', properties: { x: schema }, ...(required && { required: ['x'] }) });
  });
});

describe('the types of parameters', () => {
  const compile = createCompiler();
  const rows: [type: keyof typeof ToolParamType, schema: string, good: Json, bad: Json, problem: string][] = [
    ['STRING', 'string', 'a', 1, '/x: expected string, got number'],
    ['INTEGER', 'integer', 1, 1.5, '/x: expected integer, got number'],
    ['NUMBER', 'number', 1.5, '1.5', '/x: expected number, got string'],
    ['FLOAT', 'number', 1, true, '/x: expected number, got boolean'],
    ['BOOLEAN', 'boolean', false, 'no', '/x: expected boolean, got string'],
    ['ARRAY', 'array', [1], {}, '/x: expected array, got object'],
    ['OBJECT', 'object', { a: 1 }, [], '/x: expected object, got array'],
  ];

  test.each(rows)('%s is the JSON Schema type %s', (type, expected, good, bad, problem) => {
    const schema = schemaOf([{ name: 'x', paramType: ToolParamType[type] }]);
    expect(schema).toMatchObject({ properties: { x: { type: expected } } });
    const problemsOf = compile('p', 'a', 'parameters', schema);
    expect([problemsOf({ x: good }), problemsOf({ x: bad })]).toEqual([[], [problem]]);
  });
});

describe('handlers', () => {
  const message = { text: 'find cats', content: [], at: '2026-01-01T00:00:00.000Z' };
  const context = contextOf('conv-1', { message: async () => message });

  test('are methods that get their parameters by name, with the defaults of those left out', async () => {
    expect(await call('search_web', { query: 'cats' }, context)).toMatchObject({ results: ['cats 5'] });
    expect(await call('search_web', { query: 'cats', limit: 2 }, context)).toMatchObject({ results: ['cats 2'] });
    expect(await call('everything', { ratio: 1, kind: 'a' }, context)).toEqual(expect.arrayContaining(['count', 'sure', 'ratio', 'kind']));
  });

  test('are given besides them stream_id, the ids of user and group, the platform, and the message that set off the turn', async () => {
    const said = { stream_id: 'conv-1', chat_id: 'conv-1', group_id: '', user_id: 'user-1', platform: 'longshore', message };
    expect(await call('search_web', { query: 'cats' }, context)).toMatchObject({ said });
  });

  test('have their own parameter message where they declare one', async () => {
    expect(await call('say', { message: 'mine' }, context)).toBe('mine');
  });

  test('fail a call with what they throw', async () => {
    expect(await problemOf(call('intrude', {}, context))).toBe('ctx.send: the stream "conv-other" is not the one of this call');
  });
});

describe('results', () => {
  const give = (value: unknown) => call('result', { value } as JsonObject);

  test('an object, a text and any other JSON value go to the model as they are', async () => {
    for (const value of [{ results: [1] }, { success: true, message: 'ok' }, 'plain', [1, 2], 7, true, null]) expect(await give(value)).toEqual(value);
    expect(await call('both')).toBeNull();
  });

  test('[ok, text] is a text that succeeded or failed', async () => {
    expect(await give([true, 'yes'])).toEqual(text('yes'));
    expect(await give([false, 'no'])).toEqual(text('no', true));
  });

  test('success: false is a failure with the text of error, or with all there is', async () => {
    expect(await give({ success: false, error: 'no such city' })).toEqual(text('no such city', true));
    expect(await give({ success: false, error: 'no', code: 7 })).toEqual(text('{"success":false,"error":"no","code":7}', true));
  });

  test('content_items are texts, images, files and links, after the content', async () => {
    const content_items = [
      { content_type: 'text', data: 'a chart' },
      { content_type: 'image', data: 'data:image/jpeg;base64,AAAA' },
      { content_type: 'audio', data: 'BBBB', mime_type: 'audio/ogg', uri: 'x/y.ogg' },
      { content_type: 'resource', data: 'CCCC', mime_type: 'application/pdf', name: 'a.pdf' },
      { content_type: 'binary', data: 'DDDD' },
      { content_type: 'resource_link', uri: 'https://a.example/b' },
    ];
    expect(await give({ success: true, content: 'See:', content_items })).toEqual({
      content: [
        { type: 'text', text: 'See:' },
        { type: 'text', text: 'a chart' },
        { type: 'image', mediaType: 'image/jpeg', data: 'AAAA' },
        { type: 'file', mediaType: 'audio/ogg', name: 'y.ogg', data: 'BBBB' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
        { type: 'file', mediaType: 'application/octet-stream', name: 'item-5', data: 'DDDD' },
        { type: 'text', text: 'https://a.example/b' },
      ],
      isError: false,
    });
    expect(await problemOf(give({ content_items: [{ content_type: 'binary' }] }))).toBe('item 1 of its result has neither data nor uri');
  });
});

describe('stream_id', () => {
  test('may be declared as a parameter; the model is not shown it, and the host fills it in', async () => {
    expect(toolOf('greet')).toMatchObject({ description: 'Greet the user', parameters: { properties: {} } });
    expect(await call('greet')).toEqual({ success: true, message: 'Replied' });
  });

  test('ctx.send speaks to the conversation that it names', async () => {
    const context = contextOf('conv-1');
    await call('greet', {}, context);
    expect(context.told).toEqual([
      'send {"type":"text","text":"Hello!"}',
      'send {"type":"image","mediaType":"image/png","data":"iVBO"}',
      'send {"type":"file","mediaType":"text/plain","name":"a.txt","data":"YQ=="}',
      'warn greeted',
    ]);
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
    expect([slow.told, fast.told]).toEqual(['slow', 'fast'].map((said) => [`send {"type":"text","text":"${said}"}`, `info ${said}`]));
  });
});

describe('generated descriptions', () => {
  const described = (id: string) => shown(99).tools.find(({ tool }) => tool === `maibot-search:${id}`)?.description;

  test('a detailed description gets the parameters appended to its end, and the model is sent all of it', () => {
    expect(described('search_web')).toBe(
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
    expect(described('get_weather')).toBe(
      'Get weather information for a specified city\n\nParameter details:\n- city: string, required. City name\n- unit: string, optional. One of: C, F. Default: C',
    );
  });

  test('each parameter has a line with type, whether it is required, and what else is known of it', () => {
    expect(described('everything')).toBe(
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
  });

  test('without parameters nothing is appended', () => {
    expect(described('intrude')).toBe('Speaks elsewhere');
  });
});

describe('a whole plugin', () => {
  test('createPlugin() gives it; it runs in a compartment and is called as its package', () => {
    expect(plugin).toMatchObject({ id: 'maibot-search', version: '2.1.0', description: 'Searches and greets', dialect: 'maibot' });
    expect(toolOf('search_web')).toMatchObject({ isolation: 'compartment', timeoutMs: 60_000, visibility: 'visible' });
  });

  test('its class says of the plugin what there is to say', async () => {
    const said = { version: '3.0.0', description: 'Sums', brief: 'Adds', dependencies: ['numbers'], requireApproval: true };
    const source = `${header} class P extends MaiBotPlugin { ${hooks} @tool('a') a() {} }
      export const createPlugin = () => Object.assign(new P(), ${JSON.stringify({ id: 'sums', ...said })});`;
    expect(await bench.load('sums', source)).toMatchObject({ id: 'sums', ...said });
  });

  test('methods that are no tools help those that are', async () => {
    expect(await call('search_web', { query: 'a', limit: 1 })).toMatchObject({ results: ['a 1'] });
    expect(registry.get('maibot-search:_doSearch')).toBeUndefined();
  });

  test('a class without one of the three hooks is an error of its load', async () => {
    expect(await problemOfClass('hookless', 'onLoad() {}')).toBe(
      'it has no onUnload, no onConfigUpdate; a MaiBot plugin has onLoad, onUnload, onConfigUpdate, even where they do nothing',
    );
  });

  test('that of the guide works', async () => {
    const guide = await readFile(new URL('../../../../docs/guides/plugins.md', import.meta.url), 'utf8');
    const [, source = ''] = /```ts\n(import \{ MaiBotPlugin.*?)```/s.exec(guide) ?? [];
    const search = await bench.load('guide', source.replace('extends MaiBotPlugin {', "extends MaiBotPlugin { id = 'guide';"));
    const context = contextOf('conv-1');
    expect(await run(search, 'search', { query: 'ships' }, context)).toEqual({ results: ['ships'] });
    expect(context.told).toEqual(['send {"type":"text","text":"Searching …"}']);
  });

  test('in the worker itself, where the operator trusts it, it works the same', async () => {
    const source = `import { MaiBotPlugin, tool } from ${JSON.stringify(new URL('../../../../src/plugins/dialects/maibot/maibot.ts', import.meta.url).pathname)};
      class P extends MaiBotPlugin { onLoad() {} onUnload() {} onConfigUpdate() {}
        async say({ stream_id }) { await this.ctx.send.text(typeof process, stream_id); return [true, 'said']; } }
      tool('say')(P.prototype.say, { kind: 'method', name: 'say', addInitializer: (each) => { P.initialize = each; } });
      export const createPlugin = () => { const plugin = new P(); P.initialize.call(plugin); return plugin; };`;
    await mkdir(join(bench.directory, 'Trusted_One'), { recursive: true });
    await writeFile(join(bench.directory, 'Trusted_One/index.mjs'), source);
    const trusted = await loadFixture('Trusted_One', undefined, { directory: bench.directory, trusted: true });
    expect([trusted.id, trusted.alerts]).toEqual(['trusted-one', [expect.objectContaining({ at: expect.stringMatching(/^\d{4}-/) })]]);
    const context = contextOf('conv-1');
    expect(await run(trusted, 'say', {}, context)).toEqual(text('said'));
    expect(context.told).toEqual(['send {"type":"text","text":"object"}']);
  });
});

describe('legacy components', () => {
  test('@action becomes a tool whose parameters are all texts that may be left out', async () => {
    expect(toolOf('wave').parameters).toEqual({ type: 'object', properties: { how: { type: 'string', description: 'In which way' } } });
    expect(toolOf('wave').description).toBe('Waves a hand\n\nParameter details:\n- how: string, optional. In which way');
    expect(await call('wave', { how: 'badly' })).toEqual(text('waved badly', true));
  });

  test('what activates an action is kept as metadata of the tool', () => {
    expect(toolOf('wave').metadata).toEqual({ legacyAction: true, activationType: 'keyword', activationKeywords: ['bye'] });
  });

  test('each @action is told as deprecated, in an alert of the plugin', () => {
    const deprecated = '"wave" is declared with @action, which is deprecated; declare wave with @tool, which knows types of parameters.';
    expect(plugin.alerts).toContainEqual({ level: 'warning', text: deprecated, at: expect.stringMatching(/^\d{4}-/) as string });
  });

  test('@workflowStep is an error that says what to use instead', async () => {
    expect(await problemOfClass('step', `${hooks} @workflowStep('a') a() {}`)).toBe('@workflowStep("a") is no longer supported; declare a tool with @tool');
  });
});

/** The offer of a conversation in which all tools but the search are deferred. */
function showOfferWithSearch() {
  const withSearch = createRegistry([plugin, createToolsPlugin(async () => [])]);
  return showOffer({ agent: { ...agent, deferTools: { over: 0, pin: [] } }, available: withSearch.tools, texts: [] }, withSearch, []);
}
