import type { ManagerOptions } from '../../../src/plugins/manager/manager-options.ts';
import { definePlugin, type Permissions } from '../../../src/plugins/api/define-plugin.ts';
import { startInstance } from '../../../src/plugins/manager/plugin-instance.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, useTestStore } from '../../store/support.ts';
import { problemOf } from '../isolates/support.ts';
import { call, sourceOf, useManagerBench, type Workbench } from './manager-workbench.ts';
import { echoTool } from '../tools.ts';

let bench: Workbench;
let store: Store;
useTestStore((opened) => ({ store } = opened));
useManagerBench((opened) => ({ bench } = opened));

/** Settings from Postgres; what is reported can be looked at, and the tests say when to follow. */
function production(more: Partial<ManagerOptions> = {}): Partial<ManagerOptions> {
  const { states } = bench;
  const kept: ManagerOptions['store'] = {
    settings: () => store.plugins.settings(),
    takeBackConfig: (...args) => store.plugins.takeBackConfig(...args),
    report: (...args) => states.report(...args),
    stillHere: () => states.stillHere(),
    forget: (...args) => states.forget(...args),
    follow: () => states.follow(),
  };
  return { requireGrants: true, store: kept, ...more };
}

/** A plugin whose one tool answers 1 and has permissions. */
const asking = (id: string, permissions: Permissions, more = '') =>
  sourceOf(id, 'return 1', more).replace("description: 'Runs',", `description: 'Runs', permissions: ${JSON.stringify(permissions)},`);
const reportOf = (name: string) => bench.states.written.get(name);
const refusal = (id: string, wanted: string, it: string, options: string, entry: string) =>
  `Plugin "${id}": ${wanted}, and no operator granted ${it}. To grant ${it}: longshore plugins grant ${id} ${options}; ` +
  `or write permissions: { ${entry} } at the plugin's entry in the agent's file`;

test('what no operator granted is refused with the line that grants it; after that the plugin is loaded, until it is revoked', async () => {
  await bench.write('weather/index.ts', asking('weather', { time: true, network: ['Api.weather.example'] }));
  await bench.write('user/index.ts', sourceOf('user', 'return 2', `dependencies: ['weather'],`));
  const manager = await bench.open(['./weather', './user'], production());
  const wanted = 'its tool "run" asks for the permission network for "Api.weather.example"';
  const error = refusal('weather', wanted, 'it', '--network Api.weather.example', 'network: [Api.weather.example], time: true');
  expect(reportOf('./weather')).toMatchObject({ health: 'failed', denied: true, ungranted: { network: ['Api.weather.example'] }, error });
  expect(manager.registry.get('weather:run')).toBeUndefined();
  await store.plugins.grant('weather', { network: ['api.weather.example'] }, BY);
  await manager.follow();
  expect(await call(manager, 'weather:run')).toBe(1);
  // What could not be loaded for want of it is loaded too.
  expect(await call(manager, 'user:run')).toBe(2);
  expect(reportOf('./weather')).toMatchObject({ health: 'loaded' });
  expect(reportOf('./weather')).not.toHaveProperty('denied');
  await store.plugins.revoke('weather', { network: ['API.weather.example'] }, BY);
  await manager.follow();
  expect(manager.registry.get('weather:run')).toBeUndefined();
  expect(reportOf('./weather')).toMatchObject({ health: 'failed', denied: true, error });
});

test('the line grants all that is missing, quoted for bash and YAML, and time and random need none', async () => {
  await bench.write(
    'odd/index.ts',
    asking('odd', { network: ['a.example:8443'], env: ['KEY'], fs: ["/srv/it's; rm"], random: true }, `environment: [{ name: 'NO', required: false }],`),
  );
  await bench.write('clock/index.ts', asking('clock', { time: true, random: true }));
  const manager = await bench.open(['./odd', './clock'], production());
  const wanted = [
    'it asks for the permission env for "NO"',
    ...['network for "a.example:8443"', 'env for "KEY"', `fs for "/srv/it's; rm"`].map((what) => `its tool "run" asks for the permission ${what}`),
  ].join('; ');
  const options = `--env NO KEY --network a.example:8443 --fs '/srv/it'\\''s; rm'`;
  expect(reportOf('./odd')?.error).toBe(
    refusal('odd', wanted, 'them', options, `network: ["a.example:8443"], env: ["NO", KEY], fs: ["/srv/it's; rm"], random: true`),
  );
  expect(await call(manager, 'clock:run')).toBe(1);
});

test('a new version that asks for more leaves the old one at work, and takes its place once that is granted', async () => {
  await bench.write('grows/index.ts', asking('grows', { env: ['A'] }));
  await store.plugins.grant('grows', { env: ['A'] }, BY);
  const manager = await bench.open(['./grows'], production());
  await bench.write('grows/index.ts', asking('grows', { env: ['A', 'B'] }).replace('return 1', 'return 2'));
  await manager.reload('./grows');
  expect(await call(manager, 'grows:run')).toBe(1);
  expect(reportOf('./grows')).toMatchObject({ health: 'loaded', permissions: { env: ['A'] }, ungranted: { env: ['B'] }, denied: true });
  await store.plugins.grant('grows', { env: ['B'] }, BY);
  await manager.follow();
  expect(await call(manager, 'grows:run')).toBe(2);
  // The old version would still fit, the one at work does not.
  await store.plugins.revoke('grows', { env: ['B'] }, BY);
  await store.plugins.reload('grows', { actor: { kind: 'login', id: 'ada' } });
  await manager.follow();
  expect(manager.registry.get('grows:run')).toBeUndefined();
});

test("an entry of an agent's file grants what it names, and bounds as before; plugins in the worker's own process need no grant", async () => {
  await bench.write('named/index.ts', asking('named', { env: ['A'] }));
  await bench.write('over/index.ts', asking('over', { env: ['A'] }));
  const tool =
    "{ id: 'run', description: 'Runs', parameters: { type: 'object' }, kind: 'tool', annotations: {}, timeoutMs: 1000, isolation: 'host', permissions: { env: ['A'] }, execute: async () => 3 }";
  await bench.write('trusted/index.mjs', `export default { id: 'trusted', version: '1', description: '', tools: [${tool}] };`);
  await store.plugins.grant('over', { env: ['A'] }, BY);
  const pins = { './named': { permissions: { env: ['A'] } }, './over': { permissions: {} } };
  const manager = await bench.open(['./named', './over', './trusted'], { ...production({ hostPlugins: ['./trusted'] }), pins });
  expect(await call(manager, 'named:run')).toBe(1);
  expect(await call(manager, 'trusted:run')).toBe(3);
  expect(reportOf('./named')).not.toHaveProperty('ungranted');
  expect(reportOf('./over')?.error).toContain('its tool "run" asks for the permission env for "A", and an agent grants at most: none');
});

test('in development a plugin has what it asks for, and the log says once what production would refuse', async () => {
  await bench.write('free/index.ts', asking('free', { env: ['FREE'] }));
  const manager = await bench.open(['./free'], production({ requireGrants: false }));
  expect(await call(manager, 'free:run')).toBe(1);
  expect(bench.logged.filter((text) => text.includes('no operator granted'))).toEqual([
    'a plugin has permissions that no operator granted; with NODE_ENV=production it would not be loaded',
  ]);
  expect(reportOf('./free')).toMatchObject({ health: 'loaded', ungranted: { env: ['FREE'] } });
  expect(reportOf('./free')).not.toHaveProperty('denied');
});

test('what a plugin makes of itself when it is loaded needs a grant too', async () => {
  const plugin = definePlugin({ id: 'p', tools: [echoTool('run')] });
  Object.assign(plugin, { load: async () => void (plugin.tools = [echoTool('run', { permissions: { env: ['LATE'] } })]) });
  const log = { child: () => log, info: () => undefined, warn: () => undefined } as unknown as ManagerOptions['log'];
  const started = startInstance(plugin, { config: {}, configVersion: 1 }, { granted: {}, environment: () => undefined, log });
  expect(await problemOf(started)).toContain('its tool "run" asks for the permission env for "LATE", and no operator granted it');
});
