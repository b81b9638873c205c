import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { createToolsPlugin } from '../../../../src/plugins/builtin/tools.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, run } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';
import { agent, bench, call, header, hooks, plugin, problemOfClass, registry, shown, text, toolOf, useSearch } from './search.ts';

useSearch();

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
    const source = `import { MaiBotPlugin, tool } from ${JSON.stringify(new URL('../../../../src/plugins/dialects/maibot/sdk.ts', import.meta.url).pathname)};
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
