import { deferred } from '../../../src/common/deferred.ts';
import { until } from '../../e2e/support.ts';
import { contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

describe('a plugin that misbehaves is cut while another answers', () => {
  const calm = () => bench.load('calm', sourceOf('calm', { ping: 'return "pong"' }));
  const MISDEEDS = {
    loop: 'for (;;);',
    microtasks: 'const again = (): unknown => Promise.resolve().then(again); await again();',
    buffers: 'const all: unknown[] = []; for (;;) all.push(new Uint8Array(32_000_000).fill(1));',
    heap: 'const all: unknown[] = []; for (;;) all.push({ all: [1, 2, 3, Math.max(all.length, 1)] });',
    flood: 'for (let i = 0; i < 1_000_000; i += 1) console.log("x");',
    ping: 'return "pong"',
  };

  test.each([
    ['loop', /^bad-loop:loop failed: its process was ended: it did not answer for 1000 ms$/],
    ['microtasks', /^bad-microtasks:microtasks failed: its process was ended: (it ran out of memory|it did not answer for 1000 ms)$/],
    ['buffers', /^(Array buffer allocation failed|bad-buffers:buffers failed: its process was ended: it (ran out of memory|did not answer for 1000 ms))$/],
    ['heap', /^bad-heap:heap failed: its process was ended: (it ran out of memory|it did not answer for 1000 ms)$/],
    ['flood', /^bad-flood:flood failed: its process was ended: (it sent more than 1000 messages a second|it did not answer for 1000 ms)$/],
  ])('%s', async (misdeed, problem) => {
    const [good, bad] = [await calm(), await bench.load(`bad-${misdeed}`, sourceOf(`bad-${misdeed}`, MISDEEDS))];
    const inFlight = problemOf(run(bad, misdeed));
    let answered = 0;
    const others = (async () => {
      for (; answered < 50; answered += 1) await run(good, 'ping');
    })();
    expect(await inFlight).toMatch(problem);
    await others;
    expect([answered, await run(bad, 'ping')]).toEqual([50, 'pong']);
  });

  test.each(['loop', 'heap', 'flood'] as const)(
    '%s: after the cut the next call of the plugin succeeds, and calls of a neighbour that were under way go on',
    async (misdeed) => {
      const neighbour = await bench.load('neighbour', sourceOf('neighbour', { wait: 'await context.message(); return input.n;' }));
      const bad = await bench.load(`cut-${misdeed}`, sourceOf(`cut-${misdeed}`, { ...MISDEEDS, wait: 'await context.message()' }));
      const held = Array.from({ length: 5 }, () => deferred<undefined>());
      const asked = Array.from({ length: 5 }, () => deferred<true>());
      const underWay = held.map((hold, n) => run(neighbour, 'wait', { n }, contextOf('conv-1', { message: () => (asked[n]!.resolve(true), hold.promise) })));
      await Promise.all(asked.map(({ promise }) => promise));
      const order: string[] = [];
      const lost = problemOf(run(bad, 'wait', {}, contextOf('conv-1', { message: () => new Promise(() => undefined) })));
      await problemOf(run(bad, misdeed)).then(() => order.push('cut'));
      expect(await lost).toMatch(/^cut-\w+:wait failed: its process was ended: it /);
      await run(bad, 'ping').then((answer) => order.push(`next call: ${String(answer)}`));
      for (const { resolve } of held) resolve(undefined);
      expect(await Promise.all(underWay)).toEqual([0, 1, 2, 3, 4]);
      expect(order).toEqual(['cut', 'next call: pong']);
    },
  );

  test('what keeps a processor busy after its call has ended', async () => {
    const busy = 'setInterval(() => { for (let i = 0; i < 3e7; i += 1); }, 0)';
    const plugin = await bench.load('busy', sourceOf('busy', { busy, ping: 'return "pong"' }));
    await run(plugin, 'busy');
    await until(async () => bench.isolates.health().plugins.some(({ plugin: id, restarts }) => id === 'busy' && restarts === 1), 'it is replaced');
    // On a busy machine a ping may be the first to wait so long.
    expect(bench.logged.at(-1)).toMatch(/it kept a processor busy for 1000 ms without a call|it did not answer for 1000 ms/);
    expect(await run(plugin, 'ping')).toBe('pong');
  });

  test('a call that takes too long or is cancelled is answered at once; one that goes on nevertheless ends with its process', async () => {
    const waits = `return new Promise((resolve, reject) => { if (!input.deaf) context.signal.addEventListener('abort', () => reject(new Error('stopped'))); })`;
    const plugin = await bench.load(
      'slow',
      sourceOf('slow', { waits, ping: 'return "pong"', keep: 'return (globalThis as any).kept = ((globalThis as any).kept ?? 0) + 1' }, { timeoutMs: 1_000 }),
    );
    await run(plugin, 'keep');
    expect(await problemOf(run(plugin, 'waits'))).toBe('slow:waits failed: it took longer than 1000 ms and was aborted');
    const context = contextOf('conv-1');
    const cancelled = problemOf(run(plugin, 'waits', {}, context));
    context.abort(new Error('not wanted any more'));
    expect(await cancelled).toBe('not wanted any more');
    expect(await run(plugin, 'keep')).toBe(2);
    await problemOf(run(plugin, 'waits', { deaf: true }));
    const ended = () => bench.logged.some((line) => line.includes('slow:waits went on for 300 ms after it was cancelled'));
    while (!ended()) await run(plugin, 'ping').catch(() => undefined);
    expect(await run(plugin, 'keep')).toBe(1);
  });

  test('a process that ends again and again is not started any more for a while', async () => {
    const plugin = await bench.load('dies', sourceOf('dies', { flood: MISDEEDS.flood }));
    const problems: string[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) problems.push(await problemOf(run(plugin, 'flood')));
    expect(problems.at(-1)).toMatch(/^dies:flood failed: its process was ended too often; it is tried again in \d+ s$/);
    expect(problems.slice(0, 5).every((problem) => problem.startsWith('dies:flood failed: its process was ended: '))).toBe(true);
  });
});

test('health tells the level of the fence and of each plugin whether it runs, how often it was replaced, and when it is left alone', async () => {
  const plugin = await bench.load('ailing', sourceOf('ailing', { flood: 'for (;;) console.log("x");', ping: 'return "pong"' }));
  const healthOf = () => bench.isolates.health().plugins.find(({ plugin: id }) => id === 'ailing');
  expect(bench.isolates.health()).toMatchObject({ level: expect.stringMatching(/^[ABC]$/) as string, fence: bench.isolates.fence });
  expect(healthOf()).toEqual({ plugin: 'ailing', state: 'running', restarts: 0 });
  await problemOf(run(plugin, 'flood'));
  expect(healthOf()).toMatchObject({ state: 'starting' });
  expect(await run(plugin, 'ping')).toBe('pong');
  expect(healthOf()).toEqual({ plugin: 'ailing', state: 'running', restarts: 1 });
  while (healthOf()?.state !== 'left-alone') await problemOf(run(plugin, 'flood'));
  expect(healthOf()).toEqual({ plugin: 'ailing', state: 'left-alone', restarts: 4 });
  const group = bench.isolates.group();
  await group[Symbol.asyncDispose]();
  expect(group.health().plugins).toEqual([]);
});

test('a plugin that was replaced is loaded in its new process as it was before, and may still refuse a configuration', async () => {
  const hooks = `load: async ({ config }: any) => { if (config.size > 9) throw new Error('too large'); configured.push(config.size); },
    updateConfig: async (_scope: string, config: any) => { if (config.size > 9) throw new Error('too large'); configured.push(config.size); },`;
  const source = sourceOf('hooked', { flood: 'for (;;) console.log("x");', state: 'return configured' }, { top: 'const configured: number[] = [];' });
  const plugin = await bench.load('hooked', source.replace("id: 'hooked',", `id: 'hooked', ${hooks}`));
  const logger = { info: () => undefined, warn: () => undefined };
  await plugin.load!({ env: {}, config: { size: 1 }, logger });
  await plugin.updateConfig!('self', { size: 2 }, '2');
  await problemOf(run(plugin, 'flood'));
  expect(await problemOf(plugin.updateConfig!('self', { size: 10 }, '3'))).toBe('too large');
  expect(await run(plugin, 'state')).toEqual([2]);
  await problemOf(run(plugin, 'flood'));
  expect(await run(plugin, 'state')).toEqual([2]);
});
