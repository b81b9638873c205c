import type { Plugin } from '../../../src/plugins/api/define-plugin.ts';
import { call, openManagerBench } from '../manager/manager-workbench.ts';
import { hostOf } from '../dialects/support.ts';
import { childrenOf, contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench({ idleMs: 40, unresponsiveMs: 10_000 });
});
afterAll(() => bench[Symbol.asyncDispose]());

async function soon(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited too long until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const untilAsleep = (plugin: Plugin | undefined) => soon(() => plugin?.isAsleep?.() !== false, 'it sleeps');

/** Lines of the log about a plugin, in their order. */
const linesOf = (name: string) => bench.logged.filter((line) => line.includes(`"plugin":"${name}"`)).map((line) => line.split(' {')[0]);

const SLEEPS = 'a plugin sleeps until it is called';
const WOKEN = 'a plugin was woken by a call';
/** What of its state a plugin can tell, and functions that change it. */
const STATE = { state: 'calls += 1; return [calls, configured];', ping: 'return "pong"' };
const HOOKS = `async load({ config, env }: any) { configured = [config.size, env.KEY]; },
  async unload() { console.log('unloads'); }, async updateConfig(_scope: string, config: any) { if (config.size > 9) throw new Error('too large'); configured = [config.size]; },`;
const stateful = (name: string) =>
  bench.load(name, sourceOf(name, STATE, { top: 'let calls = 0; let configured: unknown;' }).replace('definePlugin({', `definePlugin({ ${HOOKS}`));

test('an unused plugin unloads and has no process; its tools stay listed, and the next call loads it again', async () => {
  const before = (await childrenOf(process.pid)).length;
  const plugin = await stateful('sleeper');
  await plugin.load!(hostOf({ size: 1 }, { KEY: 'v' }));
  expect(await run(plugin, 'state')).toEqual([1, [1, 'v']]);
  await untilAsleep(plugin);
  expect(plugin.tools.map(({ id }) => id)).toEqual(['state', 'ping']);
  // The next one in advance is begun only later.
  await soon(async () => (await childrenOf(process.pid)).length <= before && linesOf('sleeper').length >= 3, 'its process has ended');
  // Once for each of its compartments.
  expect(linesOf('sleeper')).toEqual([SLEEPS, 'unloads', 'unloads']);
  expect(await run(plugin, 'state')).toEqual([1, [1, 'v']]);
  expect(plugin.isAsleep!()).toBe(false);
});

test('a configuration wakes a sleeping plugin, which may refuse it; it wakes with the newest one that it took', async () => {
  const plugin = await stateful('configured');
  await plugin.load!(hostOf({ size: 1 }));
  await untilAsleep(plugin);
  await plugin.updateConfig!('self', { size: 2 }, '2');
  await untilAsleep(plugin);
  expect(await problemOf(plugin.updateConfig!('self', { size: 10 }, '3'))).toBe('too large');
  await untilAsleep(plugin);
  expect(await run(plugin, 'state')).toEqual([1, [2, null]]);
});

test('a call that arrives while its plugin falls asleep is answered by the next process, however often: a sleep is no failure', async () => {
  const source = sourceOf('dozing', STATE, { top: 'let calls = 0; let configured: unknown;' });
  const plugin = await bench.load('dozing', source.replace('definePlugin({', 'definePlugin({ unload: () => new Promise(() => undefined),'));
  for (let round = 0; round < 6; round += 1) {
    await untilAsleep(plugin);
    // The process before still unloads, and never ends with that by itself.
    expect(await Promise.all([run(plugin, 'ping'), run(plugin, 'ping')])).toEqual(['pong', 'pong']);
  }
  expect(linesOf('dozing')).toEqual(Array.from({ length: 6 }, () => [SLEEPS, WOKEN]).flat());
});

test('calls at any moment around the sleep are all answered, once each', async () => {
  await using eager = await openWorkbench({ idleMs: 1 });
  const plugin = await eager.load('eager', sourceOf('eager', { echo: 'await context.note(String(input.n)); return input.n' }));
  const context = contextOf('conv-1');
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  for (const n of numbers) {
    expect(await run(plugin, 'echo', { n }, context)).toBe(n);
    for (let turn = 0; turn < n % 6; turn += 1) await new Promise(setImmediate);
    if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(context.told).toEqual(numbers.map((n) => `note ${n}`));
  await untilAsleep(plugin);
  expect(eager.logged.some((line) => line.startsWith(WOKEN))).toBe(true);
});

test('a plugin with a call under way stays awake, while others fall asleep', async () => {
  const source = (id: string) => sourceOf(id, { wait: `await context.note('begun'); return 'done'`, ping: 'return "pong"' });
  const [busy, idle] = [await bench.load('busy', source('busy')), await bench.load('idle', source('idle'))];
  let release = () => {};
  let begun = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const waiting = run(busy, 'wait', {}, contextOf('conv-1', { note: () => (begun(), held) }));
  await hasBegun;
  await run(idle, 'ping');
  await untilAsleep(idle);
  expect([busy.isAsleep!(), await run(busy, 'ping')]).toEqual([false, 'pong']);
  release();
  expect(await waiting).toBe('done');
  await untilAsleep(busy);
});

test('the manager reports which plugins sleep, and stops without waking any', async () => {
  await using managed = await openManagerBench(bench.isolates);
  const hooks = `load: async () => undefined, unload: async () => console.log('unloaded'),`;
  await managed.write('p/index.ts', sourceOf('managed', { run: 'return 1' }).replace('definePlugin({', `definePlugin({ ${hooks}`));
  const manager = await managed.open(['./p']);
  const report = async (asleep: boolean) => {
    await soon(() => managed.states.written.get('./p')?.asleep === (asleep ? true : undefined), 'it is reported');
    return managed.states.written.get('./p');
  };
  expect(await report(true)).toMatchObject({ health: 'loaded', tools: ['run'], asleep: true });
  expect(await call(manager, 'managed:run')).toBe(1);
  expect(await report(false)).toMatchObject({ health: 'loaded' });
  await report(true);
  const before = linesOf('./p').length;
  await manager[Symbol.asyncDispose]();
  expect(linesOf('./p').slice(before)).not.toContain(WOKEN);
  expect(linesOf('./p').at(-1)).toBe('unloaded');
});

test('a plugin that sleeps is reloaded, disabled and enabled without being woken for it, whenever calls arrive', async () => {
  await using managed = await openManagerBench(bench.isolates);
  const write = (version: number) =>
    managed.write('q/index.ts', sourceOf('changing', { run: `return ${version}` }).replace('definePlugin({', 'definePlugin({ unload: async () => undefined,'));
  await write(1);
  const manager = await managed.open(['./q']);
  const asleep = () => untilAsleep(manager.registry.plugin('changing'));
  await asleep();
  await write(2);
  const [during] = await Promise.all([call(manager, 'changing:run'), manager.reload('./q')]);
  expect([during, await call(manager, 'changing:run')]).toEqual([1, 2]);
  for (const enabled of [false, true]) {
    await asleep();
    managed.states.want('changing', { enabled });
    const [first] = await Promise.allSettled([call(manager, 'changing:run'), manager.follow()]);
    expect(first.status).toBe(enabled ? 'rejected' : 'fulfilled');
  }
  expect(await call(manager, 'changing:run')).toBe(2);
  await asleep();
  const before = linesOf('./q').length;
  await write(3);
  await manager.reload('./q');
  expect(linesOf('./q').slice(before)).not.toContain(WOKEN);
  expect(await call(manager, 'changing:run')).toBe(3);
});
