import { readFile, readlink } from 'node:fs/promises';
import { deferred } from '../../../src/common/deferred.ts';
import type { Plugin, ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { until } from '../../e2e/support.ts';
import { hostOf } from '../dialects/support.ts';
import { childrenOf, contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

const TOOLS = {
  hold: `await context.message(); return 'held';`,
  ping: `return 'pong';`,
  note: `await context.note(String(input.n)); return input.n;`,
  flood: 'for (;;) console.log("x");',
  configured: 'return configured;',
};
const HOOKS = `load: async ({ config }: any) => { configured = config.size; },
  updateConfig: async (_scope: string, config: any) => { if (config.size > 9) throw new Error('too large'); configured = config.size; },
  unload: async () => console.log('unloads'), promptText: async ({ tenantId }: any) => tenantId + ' ' + configured,`;
/** Refuses a change in the compartments where it was told to. */
const STUBBORN = sourceOf(
  'stubborn',
  { configured: 'return configured;', refuse: 'refuses = true;' },
  { top: 'let configured: unknown; let refuses = false;' },
).replace(
  'definePlugin({',
  `definePlugin({ load: async ({ config }: any) => { configured = config.size; },
  updateConfig: async (_scope: string, config: any) => { if (refuses) throw new Error('not here'); configured = config.size; },`,
);
const load = (on: Workbench, id: string): Promise<Plugin> =>
  on.load(id, sourceOf(id, TOOLS, { top: 'let configured: unknown;' }).replace('definePlugin({', `definePlugin({ ${HOOKS}`));
const of = (tenantId: string, more: Partial<ToolContext> = {}) => contextOf(`conv-of-${tenantId}`, { tenantId, ...more });
const statesOf = (on: Workbench, id: string) => on.isolates.health().plugins.filter(({ plugin }) => plugin === id);

/** A call that has begun and goes on until it is released. */
async function holding(plugin: Plugin, tenant: string) {
  const begun = deferred<true>();
  const held = deferred<undefined>();
  const outcome = run(plugin, 'hold', {}, of(tenant, { message: () => (begun.resolve(true), held.promise) }));
  outcome.catch(() => undefined);
  await begun.promise;
  return { outcome, release: () => held.resolve(undefined) };
}

/** The program in a process: where a launcher started it, its child. */
async function programOf(pid: string): Promise<string> {
  return (await childrenOf(Number(pid)))[0] ?? pid;
}

async function identityOf(pid: string): Promise<{ user: string | undefined; namespace: string }> {
  const program = await programOf(pid);
  const status = await readFile(`/proc/${program}/status`, 'utf8');
  return { user: /^Uid:\t(\d+)/m.exec(status)?.[1], namespace: await readlink(`/proc/${program}/ns/pid`) };
}

/** Processes of a plugin, by its calls that are under way: those that a bench started meanwhile, without the one kept in advance. */
async function startedBy<Result>(work: () => Promise<Result>): Promise<{ pids: string[]; result: Result }> {
  const before = await childrenOf(process.pid);
  const result = await work();
  return { pids: (await childrenOf(process.pid)).filter((pid) => !before.includes(pid)), result };
}

test('calls of two tenants run in two processes, with users and namespaces of their own; a conversation without a tenant has the default one', async () => {
  const { pids } = await startedBy(async () => {
    const plugin = await load(bench, 'apart');
    const held = [await holding(plugin, 'one'), await holding(plugin, 'two'), await holding(plugin, 'one')];
    expect(statesOf(bench, 'apart')).toHaveLength(2);
    for (const { release } of held) release();
    expect(await Promise.all(held.map(({ outcome }) => outcome))).toEqual(['held', 'held', 'held']);
    expect([await run(plugin, 'ping', {}, of('')), await run(plugin, 'ping', {}, of('default'))]).toEqual(['pong', 'pong']);
    expect(statesOf(bench, 'apart').map(({ state }) => state)).toEqual(['running', 'running', 'running']);
    expect(await plugin.promptText!({ conversationId: 'c', userId: 'u', tenantId: 'three', agentId: 'a' })).toBe('three undefined');
    expect(statesOf(bench, 'apart')).toHaveLength(4);
  });
  // One more of those may be the one that is kept in advance.
  expect(pids.length).toBeGreaterThanOrEqual(3);
  const identities = await Promise.all(pids.map(identityOf));
  expect(new Set(await Promise.all(pids.map(programOf))).size).toBe(pids.length);
  if (process.getuid?.() !== 0 || bench.isolates.health().level !== 'A') return;
  expect(new Set(identities.map(({ user }) => user)).size).toBe(pids.length);
  expect(new Set(identities.map(({ namespace }) => namespace)).size).toBe(pids.length);
});

test('a process of one tenant that is ended touches no call of another', async () => {
  const plugin = await load(bench, 'touched');
  const [one, two] = [await holding(plugin, 'one'), await holding(plugin, 'two')];
  expect(await problemOf(run(plugin, 'flood', {}, of('one')))).toContain('touched:flood failed: its process was ended: ');
  expect(await problemOf(one.outcome)).toContain('touched:hold failed: its process was ended: ');
  two.release();
  expect([await two.outcome, await run(plugin, 'ping', {}, of('one'))]).toEqual(['held', 'pong']);
  expect(bench.logged.filter((line) => line.includes('"plugin":"touched"') && line.includes('"tenant":"one"'))).toHaveLength(1);
});

test('a tenant whose process ends five times is left alone for a while, others are not', async () => {
  const plugin = await load(bench, 'failing');
  for (let attempt = 0; attempt < 5; attempt += 1) await problemOf(run(plugin, 'flood', {}, of('bad')));
  expect(await problemOf(run(plugin, 'ping', {}, of('bad')))).toMatch(/^failing:ping failed: its process was ended too often; it is tried again in \d+ s$/);
  expect(await run(plugin, 'ping', {}, of('good'))).toBe('pong');
  expect(statesOf(bench, 'failing').map(({ state }) => state)).toEqual(['left-alone', 'running']);
});

test('a change of the configuration is taken or refused by a process without a tenant, and reaches all that run and those that come later', async () => {
  const plugin = await load(bench, 'changed');
  await plugin.load!(hostOf({ size: 1 }));
  const seen = (tenants: string[]) => Promise.all(tenants.map((tenant) => run(plugin, 'configured', {}, of(tenant))));
  expect(await seen(['one', 'two'])).toEqual([1, 1]);
  await plugin.updateConfig!('self', { size: 2 }, '2');
  expect(await problemOf(plugin.updateConfig!('self', { size: 10 }, '3'))).toBe('too large');
  // The third has the process that answered.
  expect(await seen(['one', 'two', 'three', 'four'])).toEqual([2, 2, 2, 2]);
  expect(statesOf(bench, 'changed')).toHaveLength(4);
  await problemOf(run(plugin, 'flood', {}, of('one')));
  expect(await seen(['one'])).toEqual([2]);
});

test('a process that does not take a change which its plugin took is ended, and the next one begins with it', async () => {
  const plugin = await bench.load('stubborn', STUBBORN);
  await plugin.load!(hostOf({ size: 1 }));
  const seen = (tenant: string) => run(plugin, 'configured', {}, of(tenant));
  await run(plugin, 'refuse', {}, of('one'));
  expect([await seen('one'), await seen('two')]).toEqual([1, 1]);
  await plugin.updateConfig!('self', { size: 2 }, '2');
  await until(async () => bench.logged.some((line) => line.includes('it did not apply a change that the plugin accepted')), 'its process has ended');
  expect([await seen('one'), await seen('two')]).toEqual([2, 2]);
  // On a busy machine, the limit of a second that these tests have may end another one: nothing of that is said here.
  const lines = bench.logged.filter((line) => line.includes('"plugin":"stubborn"') && line.includes('it did not apply a change that the plugin accepted'));
  expect(lines).toEqual([expect.stringContaining('"tenant":"one"')]);
});

test('of idle processes the one that was used least recently makes room', async () => {
  await using small = await openWorkbench({ maxProcesses: 2 });
  const source = (id: string) => sourceOf(id, { count: 'calls += 1; return calls;' }, { top: 'let calls = 0;' });
  const [first, second, third] = [
    await small.load('first', source('first')),
    await small.load('second', source('second')),
    await small.load('third', source('third')),
  ];
  await run(first, 'count', {}, of('one'));
  await run(second, 'count', {}, of('one'));
  // From here on the second is the one that was used least recently.
  expect(await run(first, 'count', {}, of('one'))).toBe(2);
  expect(await run(third, 'count', {}, of('one'))).toBe(1);
  expect([await run(first, 'count', {}, of('one')), await run(second, 'count', {}, of('one'))]).toEqual([3, 1]);
});

test('where as many processes run as may, the idle one that was used least recently makes room, and calls wait in their order for those in use', async () => {
  await using small = await openWorkbench({ maxProcesses: 2 });
  const plugin = await load(small, 'crowded');
  const [one, two] = [await holding(plugin, 'one'), await holding(plugin, 'two')];
  const context = of('three');
  const order: string[] = [];
  const note = (tenant: string) => run(plugin, 'note', { n: 1 }, of(tenant)).then(() => order.push(tenant));
  const waiting = [note('three'), note('four'), note('five')];
  const late = problemOf(run(plugin, 'ping', {}, of('six', { signal: AbortSignal.abort(new Error('not wanted any more')) })));
  expect(await late).toBe('not wanted any more');
  await new Promise(setImmediate);
  expect([order, context.told]).toEqual([[], []]);
  one.release();
  await Promise.all(waiting);
  expect(order).toEqual(['three', 'four', 'five']);
  two.release();
  expect([await one.outcome, await two.outcome]).toEqual(['held', 'held']);
  expect(statesOf(small, 'crowded').length).toBeLessThanOrEqual(2);
  expect(small.logged.filter((line) => line.includes('makes room') && line.includes('"tenant":"one"'))).toHaveLength(1);
  expect(small.logged.some((line) => line.includes('makes room') && line.includes('"tenant":"two"'))).toBe(false);
});

test('a call that waits for a process longer than it may take fails with what to do, and holds up nothing after it', async () => {
  await using small = await openWorkbench({ maxProcesses: 1 });
  const plugin = await small.load('queued', sourceOf('queued', TOOLS, { timeoutMs: 1_500, top: 'let configured: unknown;' }));
  const busy = await small.load('occupant', sourceOf('occupant', TOOLS, { top: 'let configured: unknown;' }));
  const one = await holding(busy, 'one');
  expect(await problemOf(run(plugin, 'ping', {}, of('one')))).toBe(
    'queued:ping failed: it waited 1500 ms for a process; all 1 that LONGSHORE_PLUGIN_PROCESSES allows are in use',
  );
  one.release();
  expect([await one.outcome, await run(plugin, 'ping', {}, of('one'))]).toEqual(['held', 'pong']);
});

test('when it is not used, each process of a plugin ends, and the plugin sleeps', async () => {
  await using idle = await openWorkbench({ idleMs: 40, unresponsiveMs: 10_000 });
  const plugin = await load(idle, 'resting');
  const one = await holding(plugin, 'one');
  await run(plugin, 'ping', {}, of('two'));
  await until(async () => statesOf(idle, 'resting').length === 1, 'the process of the other tenant has ended');
  expect([plugin.isAsleep!(), statesOf(idle, 'resting')[0]?.state]).toEqual([false, 'running']);
  one.release();
  await one.outcome;
  await until(async () => plugin.isAsleep!(), 'it sleeps');
  expect(statesOf(idle, 'resting')).toEqual([{ plugin: 'resting', state: 'asleep', restarts: 0 }]);
  expect(await run(plugin, 'ping', {}, of('two'))).toBe('pong');
  expect(plugin.isAsleep!()).toBe(false);
});
