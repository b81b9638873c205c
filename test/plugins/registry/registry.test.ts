import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistrar, createRegistry } from '../../../src/plugins/registry/registry.ts';
import { echoTool } from '../tools.ts';

const files = definePlugin({ id: 'files', version: '2', tools: [echoTool('write'), echoTool('read')] });
const weather = definePlugin({ id: 'weather', description: 'Weather of cities', tools: [echoTool('lookup')] });
const registry = createRegistry([weather, files]);

test('a tool is known by plugin and tool id, with the version of its plugin', () => {
  expect(registry.get('files:read')).toMatchObject({ id: 'files:read', pluginId: 'files', pluginVersion: '2' });
  expect(registry.get('read')).toBeUndefined();
  expect(registry.tools.map(({ id }) => id)).toEqual(['files:read', 'files:write', 'weather:lookup']);
});

test('two plugins of one id are refused, naming both', () => {
  const other = definePlugin({ id: 'weather', version: '3', tools: [echoTool('forecast')] });
  expect(() => createRegistry([weather, other])).toThrow(
    /Two plugins provide "weather": weather 0\.0\.0 \(lookup, "Weather of cities"\) and weather 3 \(forecast\)\. Rename one/,
  );
});

test('a tool that is missed since its plugin does not work says why, and no other tool does', () => {
  const problem = 'Plugin "notes": it needs the variable KEY, which is not set. Set it for the worker';
  const broken = [
    { source: './notes', ids: ['notes'], problem },
    { source: './other', ids: [], problem: 'Plugin "./other": no' },
  ];
  const partial = createRegistry([files], { notAtWork: () => broken });
  const missing = (pattern: string, plugins: string[]) => () => partial.forAgent({ id: 'fixer', plugins, tools: [pattern] });
  expect(missing('notes:*', ['./notes'])).toThrow(`agent "fixer": tools: "notes:*" matches no tool, since a plugin of the agent is not available. ${problem}`);
  expect(missing('other:run', ['./notes', './other'])).toThrow('is not available. Plugin "./other": no');
  for (const plugins of [[], ['./notes'], ['./other']])
    expect(missing('files:reed', plugins)).toThrow('"files:reed" matches no tool. Known: files:read, files:write.');
});

test('an agent gets the tools that its ids and patterns name, each once', () => {
  const tools = registry.forAgent({ id: 'fixer', plugins: [], tools: ['files:*', 'files:read'] });
  expect(tools.map(({ id }) => id)).toEqual(['files:read', 'files:write']);
});

test('* is what the worker has itself and what the plugins and servers have that the agent names, and nothing that only others name', () => {
  const given = createRegistry([
    files,
    definePlugin({ id: 'notes', source: '/agents/notes', tools: [echoTool('add')] }),
    definePlugin({ id: 'payroll', source: 'payroll-package', tools: [echoTool('pay')] }),
    definePlugin({ id: 'github', dialect: 'mcp', tools: [echoTool('search')] }),
  ]);
  const server = { url: 'https://mcp.example', headers: {}, timeoutMs: 1 };
  const toolsOf = (agent: { plugins: string[]; mcp?: Record<string, typeof server> }, tools = ['*']) =>
    given.forAgent({ id: 'fixer', tools, ...agent }).map(({ id }) => id);
  expect(toolsOf({ plugins: [] })).toEqual(['files:read', 'files:write']);
  expect(toolsOf({ plugins: ['/agents/notes'] })).toEqual(['files:read', 'files:write', 'notes:add']);
  expect(toolsOf({ plugins: ['payroll-package'], mcp: { github: server } })).toEqual(['files:read', 'files:write', 'github:search', 'payroll:pay']);
  for (const pattern of ['payroll:pay', 'github:*']) {
    expect(() => toolsOf({ plugins: ['/agents/notes'] }, [pattern])).toThrow(
      `tools: "${pattern}" matches no tool. Known: files:read, files:write, notes:add. Name one of them, or add the plugin that provides it to "plugins"`,
    );
  }
});

test('a pattern that matches nothing is refused with all that is known', () => {
  expect(() => registry.forAgent({ id: 'fixer', plugins: [], tools: ['file:*'] })).toThrow(
    /agent "fixer": tools: "file:\*" matches no tool\. Known: files:read, files:write, weather:lookup/,
  );
});

test('a pattern for a server of the agent that cannot be used says where to look for the reason', () => {
  const mcp = { desk: { url: 'https://mcp.example', headers: {}, timeoutMs: 1 } };
  expect(() => registry.forAgent({ id: 'fixer', plugins: [], tools: ['desk:*'], mcp })).toThrow(
    'agent "fixer": tools: "desk:*" matches no tool. Its MCP server "desk" cannot be used: "longshore plugins show mcp:desk" says why',
  );
});

test('plugins are replaced in another registry, and this one stays as it is', () => {
  const other = registry.replacing([{ ...files, tools: [echoTool('burn')] }]);
  expect(other.tools.map(({ id }) => id)).toEqual(['files:burn', 'weather:lookup']);
  expect(registry.get('files:burn')).toBeUndefined();
});

test('an alias is what providers take, and leads back to the tool', () => {
  expect(registry.toAlias('files:read')).toBe('files__read');
  expect(registry.fromAlias('files__read')).toBe('files:read');
  expect(registry.fromAlias('files__gone')).toBeUndefined();
  expect(() => registry.toAlias('files:gone')).toThrow(/Unknown tool "files:gone"/);
});

test('any ids give safe aliases that lead back', () => {
  const pluginId = fc.stringMatching(/^(@[A-Za-z][\w.-]{0,20}\/)?[A-Za-z][\w.-]{0,39}$/);
  const toolId = fc.stringMatching(/^[A-Za-z0-9_.-]{1,80}$/);
  const plugins = fc.dictionary(pluginId, fc.uniqueArray(toolId, { minLength: 1, maxLength: 4 }), { minKeys: 1, maxKeys: 3 });
  fc.assert(
    fc.property(plugins, (named) => {
      const some = createRegistry(Object.entries(named).map(([id, tools]) => definePlugin({ id, tools: tools.map((tool) => echoTool(tool)) })));
      for (const tool of some.tools) {
        expect(tool.alias).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
        expect(some.fromAlias(tool.alias)).toBe(tool.id);
      }
    }),
    { numRuns: 30 },
  );
});

test('ids that differ only where an alias cannot show it get different aliases', () => {
  const some = createRegistry([
    definePlugin({ id: 'p', tools: [echoTool('a.b'), echoTool('a_b'), echoTool(`${'x'.repeat(79)}1`), echoTool(`${'x'.repeat(79)}2`), echoTool('_q__t')] }),
    ...['@s/p', '@s.p/p', 's_p', 's-p', 's.p', 'p__'].map((id) => definePlugin({ id, tools: [echoTool('t'), echoTool('q__t')] })),
  ]);
  expect(new Set(some.tools.map(({ alias }) => alias)).size).toBe(17);
  for (const { id, alias } of some.tools) expect(some.fromAlias(alias)).toBe(id);
});

test('a plugin that has made other tools of itself is registered with them, one that has not is not registered again', () => {
  const register = createRegistrar();
  const changing = definePlugin({ id: 'changing', tools: [echoTool('before')] });
  const first = createRegistry([changing, weather], { register });
  changing.tools = [echoTool('after')];
  const second = createRegistry([changing, weather], { register });
  expect(second.tools.map(({ id }) => id)).toEqual(['changing:after', 'weather:lookup']);
  expect(second.get('weather:lookup')).toBe(first.get('weather:lookup'));
});

test('what was compiled of the schemas of plugins goes with them, except the newest, while their registrar lives on', async () => {
  const register = createRegistrar();
  const registerOne = (id: string): WeakRef<object> => {
    const properties = { city: { type: 'string' } };
    createRegistry([definePlugin({ id, tools: [echoTool('run', { parameters: { type: 'object', properties } })] })], { register });
    return new WeakRef(properties);
  };
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const known = createRegistry([weather], { register });
  const before = Array.from({ length: 300 }, (_, reload) => registerOne(`reloaded-${reload}`));
  // What a WeakRef was made of stays until the end of the job.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const kept = before.map((schema) => schema.deref() !== undefined);
  // The first hundred stay with the plugin that is still there; the last few of the second may lie where the engine has just worked.
  expect(kept.slice(100, 190)).not.toContain(true);
  expect(known.get('weather:lookup')?.problemsOf(7)).toEqual(['/: expected object, got number']);
});
