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
import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, problemOf, run } from '../../isolates/support.ts';
import { entryOf, loadPandoraFrom } from './support.ts';
import { agent, bench, env, plugin, texts, toolOf, useWeather } from './weather.ts';

useWeather();

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

  test('sandbox and permissions are those of the manifest, and a tool that sets them is reported', () => {
    expect(toolOf('globals')).toMatchObject({ isolation: 'compartment', permissions: { network: ['api.openweathermap.org'] } });
    expect(toolOf('globals').permissions.time).toBeUndefined();
    expect(texts()).toContain('warning: Tool "globals" declares a sandbox or permissions of its own; they are ignored, and the manifest is used.');
  });
});
