import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { bundlePlugin } from '../../../src/plugins/isolates/bundle-plugin.ts';
import type { Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import { digestOf } from '../../../src/plugins/manager/pins.ts';
import { until } from '../../e2e/support.ts';
import { problemOf } from '../isolates/support.ts';
import { call, sourceOf, useManagerBench, type Workbench } from './manager-workbench.ts';
import { echoTool } from '../tools.ts';

let isolates: Isolates;
let bench: Workbench;
useManagerBench((opened) => ({ isolates, bench } = opened));

const reportOf = (name: string) => bench.states.written.get(name);

test('a plugin that fails is reported with its error and never stops another', async () => {
  await bench.write('good/index.ts', sourceOf('good', 'return 1'));
  await bench.write('bad/index.ts', 'throw new Error("no licence");');
  await bench.write('taken/index.ts', sourceOf('builtin', 'return 1'));
  const manager = await bench.open(['./bad', './taken', './good', './missing']);
  expect(await call(manager, 'good:run')).toBe(1);
  expect(reportOf('./good')).toMatchObject({ health: 'loaded', pluginId: 'good', tools: ['run'], version: '1', dialect: 'longshore' });
  expect(reportOf('./bad')).toMatchObject({ health: 'failed', error: expect.stringContaining('(no licence)') as string });
  expect(reportOf('./taken')).toMatchObject({ health: 'failed', error: 'Two plugins provide "builtin": a built-in plugin and ./taken. Rename one.' });
  expect(reportOf('./missing')).toMatchObject({ health: 'failed', error: expect.stringContaining('there is no directory') as string });
});

test('plugins are loaded after what they depend on; a missing dependency and a cycle are problems of their own plugins only', async () => {
  await bench.write('a/index.ts', sourceOf('a', 'return 1', `dependencies: ['b'], load: async () => console.log('a'),`));
  await bench.write('b/index.ts', sourceOf('b', 'return 1', `load: async () => console.log('b'),`));
  await bench.write('c/index.ts', sourceOf('c', 'return 1', `dependencies: ['nowhere'],`));
  await bench.write('d/index.ts', sourceOf('d', 'return 1', `dependencies: ['e'],`));
  await bench.write('e/index.ts', sourceOf('e', 'return 1', `dependencies: ['d'],`));
  await bench.write('f/index.ts', sourceOf('f', 'return 1', `dependencies: ['g'],`));
  await bench.write('g/index.ts', sourceOf('g', 'return 1', `load: async () => { throw new Error('no'); },`));
  const manager = await bench.open(['./a', './b', './c', './d', './e', './f', './g']);
  expect(manager.registry.tools.map(({ id }) => id)).toEqual(['a:run', 'b:run', 'builtin:echo']);
  const errors = ['./c', './d', './e', './f', './g'].map((name) => reportOf(name)?.error);
  expect(errors).toEqual([
    'Plugin "c": it depends on the plugin "nowhere", which is not loaded. Correct that one first',
    'Plugin "d": it depends on the plugin "e", which cannot be loaded. Correct that one first',
    'Plugin "e": it depends on itself: d → e → d. Correct that one first',
    'Plugin "f": it depends on the plugin "g", which cannot be loaded. Correct that one first',
    'Plugin "g": its load failed (no). Correct it, or what it needs',
  ]);
});

test('of many plugins four are loaded at a time', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `p${index}`);
  for (const name of names) await bench.write(`${name}/index.ts`, sourceOf(name, 'return 1'));
  let loading = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const counting: Isolates = {
    ...isolates,
    group: () => ({ ...counting, [Symbol.asyncDispose]: async () => undefined }),
    async load({ name }) {
      loading += 1;
      await held;
      return definePlugin({ id: name.slice(2), tools: [echoTool('echo')] });
    },
  };
  const sources = names.map((name) => `./${name}`);
  const opening = bench.open(sources, { isolates: counting });
  await until(async () => loading >= 4, 'four are loading');
  // By then all that were begun with these would be loading too.
  for (const name of names) await bundlePlugin(name, { entry: join(bench.directory, name, 'index.ts') });
  expect(loading).toBe(4);
  release();
  expect((await opening).registry.tools).toHaveLength(10);
});

test('a reload drains the running calls of the plugin and leaves the others alone', async () => {
  await bench.write('slow/index.ts', sourceOf('slow', `await context.note('begun'); return 'old';`));
  await bench.write('other/index.ts', sourceOf('other', 'globalThis.n = (globalThis.n ?? 0) + 1; return 7;'));
  const manager = await bench.open(['./slow', './other']);
  const other = manager.registry.get('other:run');
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const running = call(manager, 'slow:run', { note: () => (begun(), held) });
  await hasBegun;
  await bench.write('slow/index.ts', sourceOf('slow', `return 'new';`));
  await manager.reload('./slow');
  expect(await call(manager, 'slow:run')).toBe('new');
  release();
  expect(await running).toBe('old');
  expect(manager.registry.get('other:run')).toBe(other);
});

test('a new version that fails leaves the old one at work and says why, until one works', async () => {
  await bench.write('p/index.ts', sourceOf('p', `return 'old';`));
  const manager = await bench.open(['./p']);
  await bench.write('p/index.ts', sourceOf('p', 'return (').replace('] });', ''));
  await manager.reload('./p');
  expect(reportOf('./p')).toMatchObject({ health: 'loaded', error: expect.stringMatching(/^Plugin "\.\/p": index\.ts:\d+: /) as string });
  await bench.write('p/index.ts', sourceOf('p', `return 'new';`, `load: async () => { throw new Error('no database'); },`));
  await manager.reload('./p');
  expect(reportOf('./p')).toMatchObject({ health: 'loaded', error: 'Plugin "p": its load failed (no database). Correct it, or what it needs' });
  await bench.write(
    'p/index.ts',
    sourceOf('p', `return 1`)
      .replace(`'longshore/plugins';`, `'longshore/plugins'; /* schema */`)
      .replace(`{ type: 'object' }`, `{ type: 'object', properties: 7 }`),
  );
  await manager.reload('./p');
  expect(await call(manager, 'p:run')).toBe('old');
  await bench.write('p/index.ts', sourceOf('p', `return 'new';`));
  await manager.reload('./p');
  expect(await call(manager, 'p:run')).toBe('new');
  expect(reportOf('./p')).not.toHaveProperty('error');
});

test('a plugin that an operator disables goes, and its agents go on without it; enabled, it comes back', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return 1'));
  const manager = await bench.open(['./p']);
  const agent = { id: 'agent', plugins: ['./p'], tools: ['p:*', 'builtin:*'] };
  bench.states.want('p', { enabled: false });
  await manager.follow();
  expect(manager.registry.forAgent(agent).map(({ id }) => id)).toEqual(['builtin:echo']);
  expect(reportOf('./p')).toMatchObject({ health: 'disabled', pluginId: 'p', tools: ['run'] });
  bench.states.want('p', { enabled: true });
  await manager.follow();
  expect(await call(manager, 'p:run')).toBe(1);
  bench.states.want('p', { enabled: false });
  const later = await bench.open(['./p']);
  expect(later.registry.get('p:run')).toBeUndefined();
});

const CONFIGURABLE = `configSchema: { type: 'object', required: ['key'], additionalProperties: false, properties: {
  key: { type: 'string', 'x-secret': true, minLength: 20 }, size: { type: 'integer', default: 3, maximum: 9 } } },
  load: async ({ config }: any) => { configured = config.size; },
  updateConfig: async (scope: string, config: any, version: string) => { if (config.size === 7) throw new Error('seven'); configured = scope + version + config.size; },`;

test('a configuration reaches the plugin and its calls with secrets filled in; one that is refused is taken back', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return [configured, context.config];', CONFIGURABLE));
  bench.variables['KEY'] = 'hidden';
  const manager = await bench.open(['./p']);
  expect(reportOf('./p')).toMatchObject({
    health: 'failed',
    error: 'Plugin "p": its configuration is not usable (/key: missing). Correct it: longshore plugins config p --set key=value',
  });
  bench.states.want('p', { config: { key: '${env.KEY}' }, configVersion: 1 });
  await manager.follow();
  expect(await call(manager, 'p:run')).toEqual([3, { key: 'hidden', size: 3 }]);
  bench.states.want('p', { config: { key: '${env.KEY}', size: 5 }, configVersion: 2 });
  await manager.follow();
  expect(await call(manager, 'p:run')).toEqual(['self25', { key: 'hidden', size: 5 }]);
  expect(await call(manager, 'p:run', { conversationId: 'a-later-one' })).toEqual([5, { key: 'hidden', size: 5 }]);

  const refused = [
    [{ key: '${env.KEY}', size: 7 }, 'Plugin "p": its updateConfig failed (seven). Correct it, or what it needs'],
    [{ key: 'plain' }, expect.stringContaining('/key: it is a secret, and those are not kept in plain text')],
    [{ key: '${env.NONE}' }, expect.stringContaining('/key: the variable NONE is not set for the worker')],
    [{ key: '${env.DATABASE_URL}' }, expect.stringContaining('/key: the variable DATABASE_URL is one that no plugin may have')],
    [{ key: '${env.KEY}', size: 12 }, expect.stringContaining('/size: must be <= 9, got 12')],
  ] as const;
  for (const [config, problem] of refused) {
    bench.states.want('p', { config, configVersion: 3 });
    await manager.follow();
    expect(bench.states.rows.get('p')).toMatchObject({ configVersion: 4, configProblem: problem });
    expect(manager.configOf('p')).toEqual({ key: 'hidden', size: 5 });
    bench.states.want('p', { config: { key: '${env.KEY}', size: 5 }, configVersion: 2 });
    await manager.follow();
  }
  expect(bench.logged.join('\n')).not.toContain('hidden');
});

test('a plugin whose configSchema is none is not loaded, and the error says so', async () => {
  await bench.write('c/index.ts', sourceOf('c', 'return 1;', `configSchema: { type: 'object', properties: { a: { type: 'txt' } } },`));
  await bench.open(['./c']);
  expect(reportOf('./c')?.error).toMatch(/^Plugin "c": its configSchema is not a valid JSON Schema \(/);
});

test('a plugin without a variable that it requires is not loaded, and an agent that needs its tools is told why', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return context.env.TOKEN;', `environment: [{ name: 'TOKEN', required: true }],`));
  const { registry } = await bench.open(['./p', './gone']);
  const problem = 'Plugin "p": it needs the variable TOKEN, which is not set. Set it for the worker';
  expect(reportOf('./p')?.error).toBe(problem);
  const tools = (plugins: string[]) => () => registry.forAgent({ id: 'a', plugins, tools: ['p:run'] });
  expect(tools(['./p'])).toThrow(`"p:run" matches no tool, since a plugin of the agent is not available. ${problem}`);
  expect(tools(['./gone'])).toThrow('is not available. Plugin "./gone": there is no directory');
});

test.each([
  ['the plugin', `environment: [{ name: 'LONGSHORE_ENCRYPTION_KEYS', required: false }],`, '', 'LONGSHORE_ENCRYPTION_KEYS'],
  ['a tool', '', `permissions: { env: ['KEY', 'DATABASE_URL', 'PGPASSWORD'] },`, 'DATABASE_URL and PGPASSWORD'],
])('a plugin is not loaded when %s asks for a variable of Longshore, also if an operator grants it', async (_what, own, ofTool, names) => {
  await bench.write('p/index.ts', sourceOf('p', 'return context.env;', own).replace("description: 'Runs',", `description: 'Runs', ${ofTool}`));
  const permissions = { env: ['KEY', 'DATABASE_URL', 'PGPASSWORD', 'LONGSHORE_ENCRYPTION_KEYS'] };
  await bench.open(['./p'], { pins: { './p': { permissions } } });
  expect(reportOf('./p')?.error).toBe(
    `Plugin "p": it asks for ${names}, which no plugin may have. Use a variable with another name, and set that for the worker`,
  );
});

test('of a pinned plugin one flipped byte is refused, and another version of a package', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return 1'));
  await bench.write('p/data/words.txt', 'abc');
  await bench.write('node_modules/packed/package.json', '{ "version": "1.2.3", "main": "index.ts" }');
  await bench.write('node_modules/packed/index.ts', sourceOf('packed', 'return 1'));
  const digest = await digestOf(`${bench.directory}/p`);
  const manager = await bench.open(['./p', 'packed'], { pins: { './p': { digest }, packed: { version: '1.2.3' } } });
  expect(manager.registry.tools).toHaveLength(3);
  await bench.write('p/data/words.txt', 'abd');
  await bench.write('node_modules/packed/package.json', '{ "version": "1.2.4", "main": "index.ts" }');
  await manager.reload('./p');
  await manager.reload('packed');
  const found = await digestOf(`${bench.directory}/p`);
  await symlink('../../node_modules/packed/index.ts', `${bench.directory}/p/data/out.ts`);
  expect(await problemOf(digestOf(`${bench.directory}/p`))).toContain('it has no digest, since its link data/out.ts leads out of it');
  expect(found).not.toBe(digest);
  expect(reportOf('./p')).toMatchObject({
    health: 'loaded',
    error: `Plugin "./p": it is pinned to ${digest}, and its files have ${found}. Look at what has changed, then change the pin`,
  });
  expect(reportOf('packed')?.error).toBe('Plugin "packed": it is pinned to version 1.2.3, and 1.2.4 is installed. Install packed@1.2.3, or change the pin');
});

test('a plugin that wants more than an agent lets it have is not loaded, nor a new version that does', async () => {
  const wants = (permissions: object) =>
    sourceOf('p', 'return Date.now() > 0').replace("description: 'Runs',", `description: 'Runs', permissions: ${JSON.stringify(permissions)},`);
  await bench.write('p/index.ts', wants({ time: true }));
  await bench.write('q/index.ts', sourceOf('q', 'return 1').replace("description: 'Runs',", `description: 'Runs', permissions: { random: true },`));
  const manager = await bench.open(['./p', './q'], { pins: { './p': { permissions: { time: true } }, './q': { permissions: {} } } });
  expect(await call(manager, 'p:run')).toBe(true);
  expect(reportOf('./q')).toMatchObject({ health: 'failed', error: expect.stringContaining('its tool "run" asks for the permission random') as string });
  await bench.write('p/index.ts', wants({ time: true, network: ['evil.example'] }));
  await manager.reload('./p');
  expect(reportOf('./p')).toMatchObject({ health: 'loaded', permissions: { time: true } });
  expect(reportOf('./p')?.error).toBe(
    'Plugin "p": its tool "run" asks for the permission network for "evil.example", and an agent grants at most: none. ' +
      'To allow it, add "evil.example" to permissions.network at the plugin\'s entry of "plugins" in the agent\'s file',
  );
});
