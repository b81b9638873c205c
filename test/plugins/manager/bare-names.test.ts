import { definePlugin, type Plugin } from '../../../src/plugins/api/define-plugin.ts';
import type { Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import type { PluginManager } from '../../../src/plugins/manager/plugin-manager.ts';
import { echoTool } from '../tools.ts';
import { openManagerBench, type Workbench } from './manager-workbench.ts';

type Written = Partial<Plugin> & { methods: string[] };

/** What the plugin of each directory is at the moment. */
let written: Record<string, Written>;
/** The newest plugin of each directory. */
const made = new Map<string, Plugin>();
let bench: Workbench;

const isolates: Isolates = {
  fence: 'none',
  follow: () => () => {},
  health: () => ({ level: 'A', fence: 'none', plugins: [] }),
  group: () => isolates,
  async load({ name }) {
    const { methods, ...more } = written[name.slice(2)]!;
    const plugin = { ...definePlugin({ id: name.slice(2), dialect: 'nekro', tools: methods.map((id) => echoTool(id)) }), ...more };
    made.set(plugin.id, plugin);
    return plugin;
  },
  async [Symbol.asyncDispose]() {},
};

async function open(plugins: Record<string, Written>, more: Parameters<Workbench['open']>[1] = {}): Promise<PluginManager> {
  written = plugins;
  for (const name of Object.keys(plugins)) await bench.write(`${name}/index.ts`, 'export default {};');
  return bench.open(
    Object.keys(plugins).map((name) => `./${name}`),
    more,
  );
}

const methodsOf = ({ registry }: PluginManager) => registry.tools.map(({ id }) => id).filter((id) => id !== 'builtin:echo');
const reportOf = (name: string) => bench.states.written.get(`./${name}`);
const refusal = (plugin: string, method: string, other: string) =>
  `Plugin "${plugin}": its method "${method}" has the same name as one of the plugin "${other}", and agent "agent" has both. ` +
  `Code calls methods by their names alone: rename one of them, take one plugin out of the agent, or disable one: longshore plugins disable ${other}`;

beforeEach(async () => {
  bench = await openManagerBench(isolates);
});
afterEach(() => bench[Symbol.asyncDispose]());

test.each([
  ['a', 'b', 'c'],
  ['c', 'b', 'a'],
])('of two plugins of an agent with a method of one name, that whose id comes first works, and all others, in the order %s %s %s', async (...names) => {
  const plugins: Record<string, Written> = { a: { methods: ['own', 'shared'] }, b: { methods: ['shared', 'more'] }, c: { methods: ['other'] } };
  const manager = await open(Object.fromEntries(names.map((name) => [name, plugins[name]!])));
  expect(methodsOf(manager)).toEqual(['a:own', 'a:shared', 'c:other']);
  expect(reportOf('b')).toMatchObject({ health: 'failed', tools: ['shared', 'more'], error: refusal('b', 'shared', 'a') });
  expect([reportOf('a'), reportOf('c')]).toEqual([expect.not.objectContaining({ error: expect.anything() }), expect.objectContaining({ health: 'loaded' })]);
  expect(() => manager.registry.forAgent({ id: 'agent', plugins: ['./b'], tools: ['b:more'] })).toThrow(refusal('b', 'shared', 'a'));
});

test('plugins that no agent has together, and tools of other dialects, may have the same names', async () => {
  const sources = ['a', 'b'].map((name) => ({ name: `./${name}`, pins: [], agents: [`of-${name}`] }));
  const apart = await open({ a: { methods: ['shared'] }, b: { methods: ['shared'] } }, { sources });
  expect(methodsOf(apart)).toEqual(['a:shared', 'b:shared']);
  const mixed = await open({ a: { methods: ['shared'] }, b: { methods: ['shared'], dialect: 'longshore' } });
  expect(methodsOf(mixed)).toEqual(['a:shared', 'b:shared']);
});

test('a plugin that cannot work takes no name from another', async () => {
  const fails = async () => {
    throw new Error('no licence');
  };
  expect(methodsOf(await open({ a: { methods: ['shared'], load: fails }, b: { methods: ['shared'] } }))).toEqual(['b:shared']);
});

test('an edit that gives a plugin the name of a method of a running one is refused, whatever their ids are, and the old version works on', async () => {
  const manager = await open({ a: { methods: ['mine'] }, b: { methods: ['shared'] } });
  written['a'] = { methods: ['mine', 'shared'] };
  await manager.reload('./a');
  expect(methodsOf(manager)).toEqual(['a:mine', 'b:shared']);
  expect(reportOf('a')).toMatchObject({ health: 'loaded', tools: ['mine'], error: refusal('a', 'shared', 'b') });
  written['b'] = { methods: ['shared', 'more'] };
  await manager.reload('./b');
  expect(methodsOf(manager)).toEqual(['a:mine', 'b:more', 'b:shared']);
});

test('a plugin that was refused for a name is loaded when the name is free: by an edit, or because the other one is disabled', async () => {
  const manager = await open({ a: { methods: ['shared'] }, b: { methods: ['shared'] }, c: { methods: ['shared'] }, d: { methods: [], dependencies: ['b'] } });
  expect(methodsOf(manager)).toEqual(['a:shared']);
  written['a'] = { methods: ['renamed'] };
  await manager.reload('./a');
  expect(methodsOf(manager)).toEqual(['a:renamed', 'b:shared']);
  expect([reportOf('b')?.error, reportOf('c')?.error, reportOf('d')?.health]).toEqual([undefined, refusal('c', 'shared', 'b'), 'loaded']);
  bench.states.want('b', { enabled: false });
  await manager.follow();
  expect(methodsOf(manager)).toEqual(['a:renamed', 'c:shared']);
  bench.states.want('b', { enabled: true });
  await manager.follow();
  expect(methodsOf(manager)).toEqual(['a:renamed', 'c:shared']);
  expect(reportOf('b')).toMatchObject({ health: 'failed', error: refusal('b', 'shared', 'c') });
});

test('names that come when a plugin is started, or with another configuration, are checked too', async () => {
  const mountShared = async () => {
    made.get('b')!.tools = [echoTool('shared')];
  };
  const manager = await open({ a: { methods: ['shared'] }, b: { methods: ['own'], updateConfig: mountShared } });
  bench.states.want('b', { configVersion: 1 });
  await manager.follow();
  expect(bench.states.rows.get('b')).toMatchObject({ configProblem: refusal('b', 'shared', 'a') });
  expect(methodsOf(manager)).toEqual(['a:shared', 'b:own']);
  written['b'] = { methods: ['own'], load: mountShared };
  await manager.reload('./b');
  expect(reportOf('b')).toMatchObject({ health: 'loaded', error: refusal('b', 'shared', 'a') });
  expect(methodsOf(manager)).toEqual(['a:shared', 'b:own']);
});
