import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import { availableTools } from '../../../../src/plugins/offer/available-tools.ts';
import { judgeCalls } from '../../../../src/plugins/approval/judge-calls.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { problemOf, run } from '../../isolates/support.ts';
import { hostOf } from '../support.ts';
import { entryOf, loadPandoraFrom } from './support.ts';
import { agent, bench, config, env, ids, judged, plugin, texts, toolOf, useWeather } from './weather.ts';

useWeather();

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

  test('readOnlyHint is required, and tools that only read and need no approval are those of unattended conversations', async () => {
    const unsaid = entryOf({ silent: 'return 1' }).replace('readOnlyHint: true', 'title: "x"');
    expect(await problemOf(loadPandoraFrom(bench, 'unsaid', { 'index.ts': unsaid }))).toContain(
      'tool "silent" does not say in annotations.readOnlyHint whether it only reads',
    );
    const conversation = { conversationId: 'conv-1', userId: 'user-1', tenantId: 'tenant-1', agentId: 'forecaster' };
    const registry = createRegistry([plugin]);
    const tools = await availableTools({ registry, agent, conversation, unattended: true, onProblem: () => undefined });
    expect(tools.map(({ id }) => id)).toEqual(['globals', 'search', 'weather'].map((id) => `@pandorakit/weather:${id}`));
  });

  test('destructiveHint asks for an approval; hints decide where neither the manifest nor a rule does', async () => {
    expect((await judged('change'))?.why).toBe('no rule of the agent matches; @pandorakit/weather:change may destroy something, so it needs an approval');
    expect((await judged('weather', { city: 'Oslo' }))?.why).toBe('no rule of the agent matches; @pandorakit/weather:weather only reads, so it is allowed');
  });

  test('idempotentHint lets a call with an unknown end be repeated; without it no call that writes is repeated', async () => {
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
