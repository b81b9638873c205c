import type {
  ConfigFieldDescriptor,
  EnvVarDescriptor,
  ResolveToolsContext,
  ResolveToolsResult,
  SandboxMode,
  Tool,
  ToolAnnotations,
  ToolManifest,
  ToolPermissions,
} from '@pandorakit/sdk/tools';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import { createGuardedFetch } from '../../../../src/network/guarded-fetch.ts';
import { availableTools } from '../../../../src/plugins/offer/available-tools.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { judgeCalls } from '../../../../src/plugins/approval/judge-calls.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';
import { hostOf, loadFixture } from '../support.ts';
import { entryOf, loadPandoraFrom, permitting } from './support.ts';

const env = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1', UNUSED_SECRET: 'never' };
const config = { greeting: 'hi', searchBackend: 'atlas' };
let bench: Workbench;
let plugin: Plugin;

beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 10_000 });
  plugin = await loadFixture('pandora-weather', bench.isolates);
});
afterAll(() => bench[Symbol.asyncDispose]());

const ids = () => plugin.tools.map(({ id }) => id);
const toolOf = (id: string, of: Plugin = plugin) => createRegistry([of]).get(`${of.id}:${id}`)!;
const texts = () => plugin.alerts.map(({ level, text }) => `${level}: ${text}`);
const agent = defineAgent({ id: 'forecaster', model: 'openai/x', tools: ['@pandorakit/weather:*'] });
const judged = async (tool: string, input = {}) =>
  (await judgeCalls({ registry: createRegistry([plugin]), agent, calls: [{ callId: 'call_1', tool: `@pandorakit/weather:${tool}`, arguments: input }] }))
    .proposed[0];

describe('tool definition', () => {
  test('a tool is a plain object with metadata, JSON Schema parameters and an execute function, and runs unchanged', async () => {
    const urls: string[] = [];
    const context = contextOf('conv-1', { env, fetch: async (url) => (urls.push(String(url)), Response.json({ main: { temp: 21 } })) });
    expect(await run(plugin, 'weather', { city: 'Oslo' }, context)).toEqual({ main: { temp: 21 } });
    expect(urls).toEqual(['https://api.openweathermap.org/data/2.5/weather?q=Oslo&units=metric&appid=k-1']);
    expect(context.told).toEqual(['info Fetching weather for Oslo']);
  });

  test('the entry point exports an array named tools; another export is none, and what is no array is refused', async () => {
    const none = await loadPandoraFrom(bench, 'none', { 'index.ts': 'export const others = [1];' });
    expect(none.tools).toEqual([]);
    expect(await problemOf(loadPandoraFrom(bench, 'no-array', { 'index.ts': 'export const tools = {};' }))).toBe(
      'Plugin "./no-array": its export "tools" is not a list. Correct its code',
    );
  });

  test('tools are registered with namespaced ids, pluginId:toolId', () => {
    const { tools } = createRegistry([plugin]);
    expect(tools.map(({ id }) => id)).toEqual(['change', 'globals', 'now', 'weather'].map((id) => `@pandorakit/weather:${id}`));
    for (const { alias } of tools) expect(alias).toMatch(/^pandorakit_weather__[a-z]+_[0-9a-f]{8}$/);
    expect(plugin).toMatchObject({
      id: '@pandorakit/weather',
      version: '1.2.0',
      dialect: 'pandora',
      description: 'Weather of cities, and a search where there is a key',
    });
  });

  test('two calls of one conversation that run side by side each speak for themselves', async () => {
    const gates = new Map<string, () => void>();
    const fetchFor = (whose: string) => async (url: string | URL) => {
      await new Promise<void>((resolve) => gates.set(new URL(url).searchParams.get('q')!, resolve));
      return Response.json({ whose });
    };
    const first = run(plugin, 'weather', { city: 'A' }, contextOf('conv-2', { env, fetch: fetchFor('first') }));
    const second = run(plugin, 'weather', { city: 'B' }, contextOf('conv-2', { env, fetch: fetchFor('second') }));
    while (gates.size < 2) await new Promise(setImmediate);
    gates.get('B')!();
    expect(await second).toEqual({ whose: 'second' });
    gates.get('A')!();
    expect(await first).toEqual({ whose: 'first' });
  });
});

describe('manifest fields', () => {
  test('an array of entries all load, each with its own permissions', () => {
    expect(ids()).toEqual(['weather', 'globals', 'change', 'now']);
    expect(['weather', 'now'].map((id) => toolOf(id).permissions)).toEqual([
      { network: ['api.openweathermap.org'], env: ['OPENWEATHER_API_KEY', 'SEARCH_KEY'] },
      { time: true, random: true, fs: ['/srv/clock'], env: [] },
    ]);
  });

  test('what an entry does outside of its functions has the powers of that entry, and needs none of another', async () => {
    const started = `const started = Date.now();\nconst ask = fetch;\n`;
    const resolving = `export const resolveTools = async () => ({ tools: [{ ...tools[0], id: 'later' }], alerts: [{ level: 'info', message: typeof Date.now() }] });`;
    const needy = `import { count } from './shared';\n${started}${entryOf({ clock: 'return [typeof started, typeof ask, count()]' })}${resolving}`;
    const plain = `import { count } from './shared';\n${entryOf({ plain: 'return [typeof (globalThis as any).fetch, count()]' })}`;
    const made = await loadPandoraFrom(
      bench,
      'two',
      { 'shared.ts': 'let n = 0; export const count = () => (n += 1);', 'needy.ts': needy, 'plain.ts': plain },
      { provides: { tools: [{ entry: 'plain.ts' }, { entry: 'needy.ts', permissions: { time: true, network: ['a.example'] } }] } },
    );
    await made.load!(hostOf({}));
    expect([await run(made, 'plain'), await run(made, 'clock'), await run(made, 'later')]).toEqual([
      ['undefined', 1],
      ['number', 'function', 1],
      ['number', 'function', 2],
    ]);
    expect(made.alerts.map(({ text }) => text)).toEqual(['number']);
  });

  test('requireApproval is the default for all tools of its entry', async () => {
    expect(plugin.tools.map(({ id, requireApproval }) => [id, requireApproval])).toEqual([
      ['weather', undefined],
      ['globals', undefined],
      ['change', undefined],
      ['now', true],
    ]);
    expect(await judged('now')).toMatchObject({ decision: 'ask', why: '@pandorakit/weather:now asks for approval by its own definition' });
  });

  test('the configuration of a user overrides requireApproval by tool, of resolved tools too, until it does not any more', async () => {
    await plugin.load!(hostOf(config, env));
    const calls = [...['weather', 'change', 'now'].map((id) => [id, { city: 'Oslo' }] as const), ['search', { q: 'x' }] as const];
    const decisions = () => Promise.all(calls.map(async ([id, input]) => (await judged(id, input))?.decision));
    expect(await decisions()).toEqual(['allow', 'ask', 'ask', 'allow']);
    await plugin.updateConfig!('self', { ...config, requireApproval: { search: true, now: false, serach: true } }, '2');
    expect(await decisions()).toEqual(['allow', 'ask', 'allow', 'ask']);
    const stray = 'warning: requireApproval of its configuration names "serach", which is none of its tools.';
    expect(texts()).toContain(stray);
    await plugin.updateConfig!('self', config, '3');
    expect(await decisions()).toEqual(['allow', 'ask', 'ask', 'allow']);
    expect(texts()).not.toContain(stray);
  });

  test('envVars and configFields are required, typed and chosen as the manifest says; all that is wrong is said, and nothing is resolved', async () => {
    const wrong = hostOf({ searchBackend: 'bing', limit: 'many', other: 1 }, { SEARCH_KEY: 's-1' });
    expect(await problemOf(plugin.load!(wrong))).toBe(
      'Plugin "./pandora-weather": the variable OPENWEATHER_API_KEY is not set; its configuration: /greeting: missing; its configuration: /other: not known (known: searchBackend, token, limit, greeting, requireApproval); its configuration: /searchBackend: expected one of "atlas", "broken", got "bing"; its configuration: /limit: expected number, got string. Set what is missing, then load it again',
    );
    expect(plugin.configSchema).toMatchObject({
      properties: {
        searchBackend: { type: 'string', title: 'Search', enum: ['atlas', 'broken'] },
        token: { type: 'string', 'x-secret': true, description: 'Of the search', examples: ['tok-…'] },
        limit: { type: 'number' },
      },
      required: ['greeting'],
    });
  });
});

describe('annotations', () => {
  test('title is what people are shown of a call that has no words of its own: the title, or the name of the tool', async () => {
    expect(['weather', 'now'].map((id) => toolOf(id).annotations)).toEqual([
      { title: 'Weather', readOnlyHint: true, destructiveHint: false, idempotentHint: true },
      { title: 'The clock', readOnlyHint: true },
    ]);
    const summaries = [judged('now'), judged('change'), judged('weather', { city: 'Oslo' })].map(async (call) => (await call)?.summary);
    expect(await Promise.all(summaries)).toEqual(['The clock', 'Change', 'Oslo']);
  });

  test('readOnlyHint is required, and tools that only read and need no approval are those of conversations without anybody to ask', async () => {
    const unsaid = entryOf({ silent: 'return 1' }).replace('readOnlyHint: true', 'title: "x"');
    expect(await problemOf(loadPandoraFrom(bench, 'unsaid', { 'index.ts': unsaid }))).toContain(
      'tool "silent" does not say in annotations.readOnlyHint whether it only reads',
    );
    const conversation = { conversationId: 'conv-1', userId: 'user-1', tenantId: 'tenant-1', agentId: 'forecaster' };
    const registry = createRegistry([plugin]);
    const tools = await availableTools({ registry, agent, conversation, unattended: true, onProblem: () => undefined });
    expect(tools.map(({ id }) => id)).toEqual(['globals', 'search', 'weather'].map((id) => `@pandorakit/weather:${id}`));
  });

  test('destructiveHint has a person asked; hints decide where neither the manifest nor anybody else does', async () => {
    expect((await judged('change'))?.why).toBe('no rule of the agent matches; @pandorakit/weather:change may destroy something, so it needs an approval');
    expect((await judged('weather', { city: 'Oslo' }))?.why).toBe('no rule of the agent matches; @pandorakit/weather:weather only reads, so it is allowed');
  });

  test('idempotentHint lets a call be repeated whose end nobody saw; without it nothing that writes is', async () => {
    const hints = (id: string, more: string) =>
      `{ id: '${id}', name: 'n', description: 'd', annotations: { readOnlyHint: false, ${more} }, execute: async () => 1 }`;
    const writes = await loadPandoraFrom(bench, 'writes', {
      'index.ts': `export const tools = [${hints('again', 'idempotentHint: true')}, ${hints('once', '')}];`,
    });
    const writer = defineAgent({ id: 'writer', model: 'openai/x', tools: ['writes:*'] });
    const calls = ['again', 'once'].map((id) => ({ callId: id, tool: `writes:${id}`, arguments: {} }));
    expect((await judgeCalls({ registry: createRegistry([writes]), agent: writer, calls })).proposed.map(({ retry }) => retry)).toEqual(['repeat', 'once']);
  });
});

describe('sandbox and permissions', () => {
  test('a compartment has no capability that was not granted, however loudly a tool asks for it', async () => {
    const context = contextOf('conv-1', { env });
    const granted = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1' };
    expect(await run(plugin, 'globals', {}, context)).toEqual({ works: [], missing: [], env: granted });
    expect(toolOf('globals')).toMatchObject({ isolation: 'compartment', environment: Object.keys(granted) });
  });

  test('host has the full process, for tools that need native dependencies, and needs the word of the operator', async () => {
    expect(await problemOf(loadFixture('pandora-native', bench.isolates))).toBe(
      'Plugin "./pandora-native": its entry host.mjs asks for the worker\'s own process. If you trust it, name it in LONGSHORE_HOST_PLUGINS',
    );
    const native = await loadFixture('pandora-native', bench.isolates, { trusted: true });
    const all = { env: { DECLARED: 'd', SHOWN: 's', OTHER: 'o' } };
    expect(await run(native, 'host', {}, contextOf('conv-1', all))).toEqual({ native: true, process: 'object', env: { SHOWN: 's', DECLARED: 'd' } });
    expect(await run(native, 'fenced', {}, contextOf('conv-1', all))).toEqual({ process: 'undefined', env: {} });
    expect(native.tools.map(({ id, isolation }) => `${id} ${isolation}`)).toEqual(['host host', 'fenced compartment']);
    expect(native.alerts.map(({ text }) => text)).toEqual([
      'Its agents are not loaded; only its tools are.',
      'host.mjs resolves more tools when the plugin is loaded; they are granted {"env":["SHOWN","DECLARED"]}.',
    ]);
    await native.load!(hostOf({}, all.env));
    expect(native.tools.map(({ id }) => id)).toEqual(['host', 'late-declared-shown', 'fenced']);
  });

  const USES = {
    time: `return [typeof Date.now(), new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(new Date(0))]`,
    random: `const n = Math.random(); return [n >= 0 && n < 1, typeof (globalThis as any).crypto]`,
    fetches: `return (await fetch('https://listed.example/')).status`,
    reads: `return (globalThis as any).readFile('/srv/clock/x')`,
    sees: 'return env',
  };
  const NOTHING = {
    time: /^secure mode .*; the clock is there only while a tool with permissions\.time runs$/i,
    random: /^secure mode .*; chance is there only while a tool with permissions\.random runs$/i,
    fetches: /^fetch is not (defined|a function); the network is there only while a tool with permissions\.network runs$/,
    reads: /readFile.* is not a function; reading files is there only while a tool with permissions\.fs runs$/,
  };
  /** What each of the tools gives or throws. */
  const outcomes = async (permissions: Record<string, unknown>) => {
    const made = await loadPandoraFrom(
      bench,
      `uses-${Object.keys(permissions)[0] ?? 'nothing'}`,
      { 'index.ts': entryOf(USES) },
      permitting(permissions as never),
    );
    const context = contextOf('conv-1', { env: { KEY: 'v', OTHER: 'o' } });
    const each = Object.keys(USES).map(async (id) => [id, await run(made, id, {}, context).catch((error: Error) => error.message)]);
    return Object.fromEntries(await Promise.all(each)) as Record<string, unknown>;
  };
  const refused = Object.fromEntries(Object.entries(NOTHING).map(([id, problem]) => [id, expect.stringMatching(problem) as unknown]));

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['nothing grants nothing', {}, {}],
    ['time grants Date, Date.now() and Intl.DateTimeFormat', { time: true }, { time: ['number', '1/1/1970'] }],
    ['random grants Math.random(), and randomness for cryptography is never there', { random: true }, { random: [true, 'undefined'] }],
    ['network grants a fetch that the worker sends', { network: ['listed.example'] }, { fetches: 201 }],
    ['env grants the declared variables alone', { env: ['KEY'] }, { sees: { KEY: 'v' } }],
    [
      'fs grants reading below the declared paths alone',
      { fs: ['/srv/watch'] },
      { reads: '/srv/clock/x: is not readable for this plugin; it may read /srv/watch' },
    ],
  ])('%s', async (_statement, permissions, given) => {
    expect(await outcomes(permissions)).toEqual({ ...refused, sees: {}, ...given });
  });

  test('network grants a fetch to the declared hosts and to no others', async () => {
    const server = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const made = await loadPandoraFrom(
      bench,
      'hosts',
      { 'index.ts': entryOf({ get: 'return (await fetch(input.url)).text()' }, `parameters: { type: 'object' },`) },
      permitting({ network: [`listed.example:${port}`] }),
    );
    await using guarded = createGuardedFetch({
      hosts: toolOf('get', made).permissions.network!,
      resolve: async () => ['127.0.0.1'],
      allowAddresses: ['127.0.0.1'],
    });
    const get = (url: string) => problemOf(run(made, 'get', { url }, contextOf('conv-1', { fetch: guarded.fetch })));
    expect(await get(`http://listed.example:${port}/`)).toBe('no error, but "inside"');
    expect(await get(`http://other.example:${port}/`)).toBe(`Request to "other.example:${port}" refused: only these hosts are allowed: listed.example:${port}`);
    server.close();
  });

  test('env is a snapshot of the moment at which the plugin was loaded, and env.get a global name for it', async () => {
    const lookUp = `declare const env: any;\nconst lookUp = (name: string) => env.get(name) ?? null;\n`;
    const source = `${lookUp}${entryOf({ sees: 'return env', gets: `return ['KEY', 'OTHER', 'constructor'].map(lookUp)` })}`;
    const made = await loadPandoraFrom(bench, 'snapshot', { 'index.ts': source }, permitting({ env: ['KEY', 'LATE'] }));
    const now = contextOf('conv-1', { env: { KEY: 'changed', LATE: 'set later' } });
    expect(await run(made, 'sees', {}, now)).toEqual({ KEY: 'changed', LATE: 'set later' });
    await made.load!(hostOf({}, { KEY: 'v', OTHER: 'o' }));
    expect(await run(made, 'sees', {}, now)).toEqual({ KEY: 'v' });
    expect(await run(made, 'gets', {}, contextOf('conv-2', { env: { KEY: 'changed' } }))).toEqual(['v', null, null]);
    const without = await loadPandoraFrom(bench, 'no-env', { 'index.ts': entryOf({ asks: 'return typeof (globalThis as any).env' }) });
    expect(await run(without, 'asks')).toBe('undefined');
  });

  test('all sandboxed tools have the safe globals, and they work', async () => {
    const works = `
      const { promise, resolve } = (() => { let resolve: any; return { promise: new Promise((done) => (resolve = done)), resolve: resolve as () => void }; })();
      let ticks = 0; const ticking = setInterval(() => { ticks += 1; if (ticks === 2) { clearInterval(ticking); resolve(); } }, 1);
      clearTimeout(setTimeout(() => { ticks = 99; }, 0)); await new Promise((done) => setTimeout(done, 1)); await promise;
      await new Promise<void>((done) => queueMicrotask(done));
      const controller = new AbortController(); let aborted = false; controller.signal.addEventListener('abort', () => { aborted = true; }); controller.abort();
      console.log('told by', { console: true });
      return { url: new URL('../b?x=1', 'https://a.example/c/d').href, query: new URLSearchParams('x=1&x=2').getAll('x'), text: new TextDecoder().decode(new TextEncoder().encode('ö')),
        base64: [btoa('hi'), atob('aGk=')], ticks, aborted: [aborted, AbortSignal.abort().aborted] };`;
    const made = await loadPandoraFrom(bench, 'globals', { 'index.ts': entryOf({ works }) });
    const context = contextOf('conv-1');
    expect(await run(made, 'works', {}, context)).toEqual({
      url: 'https://a.example/b?x=1',
      query: ['1', '2'],
      text: 'ö',
      base64: ['aGk=', 'hi'],
      ticks: 2,
      aborted: [true, true],
    });
    expect(context.told).toEqual(['info told by {"console":true}']);
  });
});

describe('dynamic tool resolution and alerts', () => {
  test('resolveTools stands beside tools, and is given the configuration and the declared variables', async () => {
    await plugin.load!(hostOf(config, { OPENWEATHER_API_KEY: 'k-1', UNUSED_SECRET: 'never' }));
    expect(ids()).toEqual(['weather', 'globals', 'change', 'now']);
    expect(texts()).toContain('warning: No search: SEARCH_KEY is not set (seen: OPENWEATHER_API_KEY)');
  });

  test('static and resolved tools are loaded together when the plugin is active, under the same ids and checks', async () => {
    await plugin.load!(hostOf(config, env));
    expect(ids()).toEqual(['weather', 'globals', 'change', 'search', 'now']);
    // A conversation that begins later resolves them in its own compartment.
    expect(await run(plugin, 'search', { q: 'x' }, contextOf('conv-3', { env }))).toBe('atlas found x with s-1 for hi');
    expect(toolOf('search').problemsOf({ q: 'x', user: 1 })).toEqual(['/user: not known (known: q)']);
    await plugin.updateConfig!('self', { ...config, greeting: 'bye' }, '4');
    expect(await run(plugin, 'search', { q: 'z' }, contextOf('conv-5', { env }))).toBe('atlas found z with s-1 for bye');
  });

  test('alerts come beside the tools, informational or a warning, and are kept with level, text and time', () => {
    expect(texts()).toEqual([
      "warning: No tool sees the variable UNUSED_SECRET: it is in envVars, but in no entry's permissions.env.",
      'warning: Tool "globals" declares a sandbox or permissions of its own; they are ignored, and the manifest is used.',
      'info: Using atlas (seen: OPENWEATHER_API_KEY,SEARCH_KEY)',
    ]);
    for (const { at } of plugin.alerts) expect(Date.parse(at)).not.toBeNaN();
  });

  test('a configuration with which resolveTools fails changes nothing: the last good set stays, and one alert says why', async () => {
    await plugin.updateConfig!('self', config, '5');
    const why = 'its tools could not be resolved (the backend is not known). The previous ones stay; correct resolveTools or its configuration';
    for (const version of ['6', '7']) {
      expect(await problemOf(plugin.updateConfig!('self', { ...config, searchBackend: 'broken' }, version))).toBe(`Plugin "./pandora-weather": ${why}`);
    }
    expect(texts().slice(2)).toEqual([
      'info: Using atlas (seen: OPENWEATHER_API_KEY,SEARCH_KEY)',
      'error: Its tools could not be resolved: the backend is not known',
    ]);
    expect(ids()).toContain('search');
    expect(await run(plugin, 'search', { q: 'y' }, contextOf('conv-4', { env }))).toBe('atlas found y with s-1 for hi');
  });
});

describe('reference', () => {
  test('all types are exported from @pandorakit/sdk/tools', async () => {
    const [mode, permissions, annotations]: [SandboxMode, ToolPermissions, ToolAnnotations] = ['compartment', { time: true }, { readOnlyHint: true }];
    const typed: Tool<{ city: string }, string[]> = {
      id: 'b',
      name: 'B',
      description: 'd',
      annotations,
      execute: async ({ city }, { logger }) => (logger.log(city), [city]),
    };
    const told: ToolManifest = { ...typed, sandbox: mode, timeout: 60_000 };
    const [variable, field]: [EnvVarDescriptor, ConfigFieldDescriptor] = [{ name: 'KEY' }, { key: 'k', label: told.name, type: 'enum', options: [] }];
    const tool: Tool = { id: 'a', name: 'A', description: 'd', annotations, sandbox: mode, permissions, execute: async (_input, { env: given }) => given };
    const resolve = async (context: ResolveToolsContext): Promise<ResolveToolsResult> => ({
      tools: [tool, typed],
      alerts: [{ level: 'info', message: `${String(context.pluginConfig['a'])} ${variable.name} ${field.label}` }],
    });
    expect(await resolve({ pluginConfig: { enabled: true, a: 1 }, env: {} })).toEqual({
      tools: [tool, typed],
      alerts: [{ level: 'info', message: '1 KEY B' }],
    });
  });

  test('id, name, description, execute and annotations are required; tool and problem are named', async () => {
    const whole = `id: 'a', name: 'A', description: 'd', annotations: { readOnlyHint: true }, execute: async () => 1`;
    const wrong: [part: string, instead: string, problem: string][] = [
      [`id: 'a',`, '', 'tool 1 has no id, or one with a colon'],
      [`id: 'a'`, `id: 'a:b'`, 'tool "a:b" has no id, or one with a colon'],
      [`name: 'A',`, '', 'tool "a" has no name'],
      [`description: 'd',`, '', 'tool "a" has no description'],
      [`execute: async () => 1`, '', 'tool "a" has no execute function'],
      [`annotations: { readOnlyHint: true },`, '', 'tool "a" does not say in annotations.readOnlyHint whether it only reads'],
      [`true }`, `true, destructiveHint: 'no' }`, 'tool "a" has an annotation that is neither true nor false'],
      [`id: 'a'`, `id: 'a', timeout: '60'`, 'tool "a" has a timeout that is not a number of milliseconds above 0'],
      [`id: 'a'`, `id: 'a', parameters: { type: 'array' }`, 'tool "a" has parameters that are no JSON Schema of an object'],
    ];
    for (const [part, instead, problem] of wrong) {
      const source = `export const tools = [{ ${whole.replace(part, instead)} }];`;
      expect(await problemOf(loadPandoraFrom(bench, 'wrong', { 'index.ts': source }))).toBe(`Plugin "./wrong": ${problem}. Correct its code`);
    }
    const twice = await problemOf(loadPandoraFrom(bench, 'wrong', { 'index.ts': `export const tools = [{ ${whole} }, { ${whole} }];` }));
    expect(twice).toBe('Plugin "./wrong": two tools have the id "a". Rename one');
  });

  test('description is shown to the model, with the parameters', () => {
    const registry = createRegistry([plugin]);
    const { tools } = showOffer({ agent, available: registry.tools, texts: [] }, registry, []);
    expect(tools.find(({ tool }) => tool === '@pandorakit/weather:weather')).toMatchObject({
      description: 'Get current weather for a city',
      parameters: { properties: { city: { type: 'string', description: 'City name' } }, required: ['city'] },
    });
  });

  test('parameters are a JSON Schema that the input is checked by; a tool without them is given nothing', async () => {
    expect(toolOf('weather').problemsOf({ city: 7 })).toEqual(['/city: expected string, got number']);
    const made = await loadPandoraFrom(bench, 'no-parameters', { 'index.ts': entryOf({ gives: 'return input' }) });
    expect(await run(made, 'gives', { made: 'up' })).toEqual({});
  });

  test('timeout is in milliseconds, ends the work, and is 60 s where it is left out', async () => {
    expect(toolOf('weather').timeoutMs).toBe(60_000);
    expect(await problemOf(run(plugin, 'change'))).toBe('@pandorakit/weather:change failed: it took longer than 300 ms and was aborted');
  });

  test('sandbox and permissions are those of the manifest, and a tool that sets them is told of', () => {
    expect(toolOf('globals')).toMatchObject({ isolation: 'compartment', permissions: { network: ['api.openweathermap.org'] } });
    expect(toolOf('globals').permissions.time).toBeUndefined();
    expect(texts()).toContain('warning: Tool "globals" declares a sandbox or permissions of its own; they are ignored, and the manifest is used.');
  });
});
