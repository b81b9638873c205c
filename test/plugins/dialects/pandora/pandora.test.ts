import type { Plugin } from '../../../../src/plugins/define-plugin.ts';
import { decide } from '../../../../src/plugins/decide.ts';
import { createRegistry } from '../../../../src/plugins/registry.ts';
import { contextOf, openWorkbench, problemOf, run, type Workbench } from '../../isolates/support.ts';
import { hostOf, loadFixture } from '../support.ts';

const env = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1', UNUSED_SECRET: 'never' };
const config = { greeting: 'hi', searchBackend: 'atlas' };
let bench: Workbench;
let plugin: Plugin;

beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 10_000, graceMs: 300 });
  plugin = await loadFixture('pandora-weather', bench.isolates);
});
afterAll(() => bench[Symbol.asyncDispose]());

const ids = () => plugin.tools.map(({ id }) => id);
const toolOf = (id: string) => createRegistry([plugin]).get(`@pandorakit/weather:${id}`)!;
const texts = () => plugin.alerts.map(({ level, text }) => `${level}: ${text}`);

test('a tool is a plain object with metadata, JSON Schema parameters and an execute function, and runs unchanged', async () => {
  const urls: string[] = [];
  const context = contextOf('conv-1', { env, fetch: async (url) => (urls.push(String(url)), Response.json({ main: { temp: 21 } })) });
  expect(await run(plugin, 'weather', { city: 'Oslo' }, context)).toEqual({ main: { temp: 21 } });
  expect(urls).toEqual(['https://api.openweathermap.org/data/2.5/weather?q=Oslo&units=metric&appid=k-1']);
  expect(context.told).toEqual(['info Fetching weather for Oslo']);
  expect(toolOf('weather').problemsOf({ city: 7 })).toEqual(['/city: expected string, got number']);
});

test('the entry point exports a named tools array, and tools are registered with namespaced ids pluginId:toolId', () => {
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

test('annotations are MCP-compatible hints, with the name as the title where none is given', () => {
  expect(toolOf('weather').annotations).toEqual({ title: 'Weather', readOnlyHint: true, destructiveHint: false, idempotentHint: true });
  expect(toolOf('now').annotations).toEqual({ title: 'The clock', readOnlyHint: true });
});

test('a compartment has the safe globals and no capability that was not granted, however loudly a tool asks for it', async () => {
  const context = contextOf('conv-1', { env });
  const granted = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1' };
  expect(await run(plugin, 'globals', {}, context)).toEqual({ works: [], missing: [], env: granted });
  expect(toolOf('globals')).toMatchObject({
    isolation: 'compartment',
    permissions: { network: ['api.openweathermap.org'] },
    environment: Object.keys(granted),
  });
  expect(toolOf('globals').permissions.time).toBeUndefined();
  expect(texts()).toContain('warning: Tool "globals" says itself in which sandbox and with which permissions it runs; what the manifest says counts.');
});

test('permissions grant time, random and fs to the tools of their entry alone, and a path outside stays closed', async () => {
  expect(await run(plugin, 'now', {}, contextOf('conv-1', { env }))).toEqual({
    clock: true,
    random: true,
    fetch: 'undefined',
    env: {},
    read: '/etc/passwd: is not readable for this plugin; it may read /srv/clock',
  });
});

test('two calls of one conversation that fetch side by side each speak for themselves', async () => {
  const gates = new Map<string, () => void>();
  const fetch = async (url: string | URL) => {
    await new Promise<void>((resolve) => gates.set(new URL(url).searchParams.get('q')!, resolve));
    return Response.json({ url: String(url) });
  };
  const first = run(plugin, 'weather', { city: 'A' }, contextOf('conv-2', { env: { OPENWEATHER_API_KEY: 'of-a' }, fetch }));
  const second = run(plugin, 'weather', { city: 'B' }, contextOf('conv-2', { env: { OPENWEATHER_API_KEY: 'of-b' }, fetch }));
  while (gates.size < 2) await new Promise(setImmediate);
  gates.get('B')!();
  expect(await second).toMatchObject({ url: expect.stringContaining('appid=of-b') });
  gates.get('A')!();
  expect(await first).toMatchObject({ url: expect.stringContaining('appid=of-a') });
});

test('what the manifest declares is required: without a variable or with a wrong configuration nothing is resolved, and all of it is said', async () => {
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

test('resolveTools gets the configuration and the declared variables, and its tools join the static ones with its alerts', async () => {
  await plugin.load!(hostOf(config, { OPENWEATHER_API_KEY: 'k-1', UNUSED_SECRET: 'never' }));
  expect(ids()).toEqual(['weather', 'globals', 'change', 'now']);
  expect(texts()).toContain('warning: No search: SEARCH_KEY is not set (seen: OPENWEATHER_API_KEY)');
  await plugin.load!(hostOf(config, env));
  expect(ids()).toEqual(['weather', 'globals', 'change', 'now', 'search']);
  expect(texts()).toEqual([
    "warning: No tool sees the variable UNUSED_SECRET: it is in envVars, but in no entry's permissions.env.",
    'warning: Tool "globals" says itself in which sandbox and with which permissions it runs; what the manifest says counts.',
    'info: Using atlas (seen: OPENWEATHER_API_KEY,SEARCH_KEY)',
  ]);
  for (const { at } of plugin.alerts) expect(Date.parse(at)).not.toBeNaN();
  // A conversation that begins later resolves them in its own compartment.
  const context = contextOf('conv-3', { env });
  expect(await run(plugin, 'search', { q: 'x' }, context)).toBe('atlas found x with s-1 for hi');
  expect(toolOf('search').problemsOf({ q: 'x', user: 1 })).toEqual(['/user: not known (known: q)']);
});

test('a configuration with which resolveTools fails changes nothing: the last good set stays and an alert says why', async () => {
  const why = 'its tools could not be resolved (the backend is not known). Those from before stay; mend resolveTools or its configuration';
  expect(await problemOf(plugin.updateConfig!('self', { ...config, searchBackend: 'broken' }, '2'))).toBe(`Plugin "./pandora-weather": ${why}`);
  expect(texts().at(-1)).toBe('error: Its tools could not be resolved: the backend is not known');
  expect(ids()).toContain('search');
  expect(await run(plugin, 'search', { q: 'y' }, contextOf('conv-4', { env }))).toBe('atlas found y with s-1 for hi');
});

test('requireApproval is that of the entry, and the user overrides it by tool, of resolved tools too', async () => {
  const policy = { approval: [], requireApproval: {} };
  const decision = (id: string) => decide(policy, toolOf(id), {}).decision;
  expect(['weather', 'change', 'now', 'search'].map(decision)).toEqual(['allow', 'ask', 'ask', 'allow']);
  await plugin.updateConfig!('self', { ...config, requireApproval: { search: true, now: false } }, '3');
  expect(['weather', 'change', 'now', 'search'].map(decision)).toEqual(['allow', 'ask', 'allow', 'ask']);
  await plugin.updateConfig!('self', { ...config, greeting: 'bye' }, '4');
  expect(['now', 'search'].map(decision)).toEqual(['ask', 'allow']);
  expect(await run(plugin, 'search', { q: 'z' }, contextOf('conv-5', { env }))).toBe('atlas found z with s-1 for bye');
});

test('host mode is for tools that need native dependencies, has full access, and needs the word of the operator', async () => {
  expect(await problemOf(loadFixture('pandora-native', bench.isolates))).toBe(
    'Plugin "./pandora-native": its entry host.mjs wants the worker\'s own process. If you trust it, name it in LONGSHORE_HOST_PLUGINS',
  );
  const native = await loadFixture('pandora-native', bench.isolates, { trusted: true });
  const all = { env: { DECLARED: 'd', SHOWN: 's', OTHER: 'o' } };
  expect(await run(native, 'host', {}, contextOf('conv-1', all))).toEqual({ native: true, process: 'object', env: { SHOWN: 's', DECLARED: 'd' } });
  expect(await run(native, 'fenced', {}, contextOf('conv-1', all))).toEqual({ process: 'undefined', env: {} });
  expect(native.tools.map(({ id, isolation }) => `${id} ${isolation}`)).toEqual(['host host', 'fenced compartment']);
  expect(native.alerts.map(({ text }) => text)).toEqual(['Its agents are not loaded; only its tools are.']);
  await native.load!(hostOf({}, all.env));
  expect(native.tools.map(({ id }) => id)).toEqual(['host', 'late-declared-shown', 'fenced']);
});

test('a timeout in milliseconds ends the work, and defaults to 60 s', async () => {
  expect(toolOf('weather').timeoutMs).toBe(60_000);
  expect(await problemOf(run(plugin, 'change'))).toBe('@pandorakit/weather:change failed: it took longer than 300 ms and was aborted');
});
