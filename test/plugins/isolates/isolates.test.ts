import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deferred } from '../../../src/common/deferred.ts';
import { until } from '../../e2e/support.ts';
import { contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

test('a plugin in TypeScript with zod, a relative import and a package is bundled and called, and its arguments are checked', async () => {
  await mkdir(join(bench.directory, 'full/node_modules/tiny'), { recursive: true });
  await writeFile(join(bench.directory, 'full/node_modules/tiny/index.js'), '/* import("x") */ exports.shout = (text) => `${text}! import(`;');
  await writeFile(join(bench.directory, 'full/double.ts'), 'export const double = (value: number): number => value * 2;');
  const plugin = await bench.load(
    'full',
    `import { definePlugin, defineTool } from 'longshore/plugins';
     import { z } from 'zod';
     import { shout } from 'tiny';
     import { double } from './double.ts';
     export default definePlugin({ id: 'full', version: '2', description: 'all of it', environment: [{ name: 'KEY', required: false }], tools: [
       defineTool({ id: 'run', description: 'runs', parameters: z.object({ n: z.number().default(4), at: z.iso.datetime().optional() }), permissions: { env: ['KEY'] },
         annotations: { readOnlyHint: true }, visibility: 'deferred', brief: 'short', isolation: 'host', execute: async ({ n }) => shout(String(double(n))) })],
       async promptText({ userId }) { return 'for ' + userId; } });`,
  );
  expect(plugin).toMatchObject({ id: 'full', version: '2', description: 'all of it', environment: [{ name: 'KEY', required: false }] });
  expect(plugin.tools[0]).toMatchObject({ id: 'run', isolation: 'compartment', visibility: 'deferred', brief: 'short', annotations: { readOnlyHint: true } });
  expect(plugin.tools[0]!.parameters).toMatchObject({ type: 'object', properties: { n: { type: 'number', default: 4 } } });
  expect(await run(plugin, 'run')).toBe('8! import(');
  expect(await problemOf(run(plugin, 'run', { n: 'x' }))).toBe(
    'Arguments of full:run are not valid: /n: Invalid input: expected number, received string. Correct them and call it again',
  );
  expect(await plugin.promptText?.({ conversationId: 'c', userId: 'u-7', tenantId: 't', agentId: 'a' })).toBe('for u-7');
  expect('selectTools' in plugin).toBe(false);
});

test('what is larger than a pipe goes through it whole, in both directions and for calls side by side', async () => {
  const plugin = await bench.load('large', sourceOf('large', { double: 'return input.text + input.text' }));
  const texts = ['ä€😀'.repeat(200_000), 'x'.repeat(3_000_001), ''];
  const results = await Promise.all(texts.map((text) => run(plugin, 'double', { text })));
  expect(results.map((result, index) => result === `${texts[index]}${texts[index]}`)).toEqual([true, true, true]);
});

test('a tool that returns what JSON has no word for fails alone, and its process goes on', async () => {
  const plugin = await bench.load(
    'wordless',
    `import { definePlugin, defineTool } from 'longshore/plugins';
let calls = 0;
const execute = async ({ what }) => ({ number: (calls += 1), fn: () => 1, symbol: Symbol('a') })[what];
export default definePlugin({ id: 'wordless', version: '1', tools: [defineTool({ id: 'give', description: 'Gives.', parameters: { type: 'object' }, execute })] });`,
  );
  expect(await run(plugin, 'give', { what: 'number' })).toBe(1);
  expect(await problemOf(run(plugin, 'give', { what: 'fn' }))).toBe('it returned a function, which is no JSON');
  expect(await problemOf(run(plugin, 'give', { what: 'symbol' }))).toBe('it returned a symbol, which is no JSON');
  expect(await run(plugin, 'give', { what: 'number' })).toBe(4);
});

test('a call uses what it was given, through the worker', async () => {
  const plugin = await bench.load(
    'uses',
    sourceOf(
      'uses',
      {
        all: `context.logger.info('hello', { a: 1 }); console.warn('from', { console: true }); context.heartbeat('half');
          await context.send('hi'); await context.note('noted'); await context.store.set('k', { deep: [1] });
          const response = await context.fetch('https://api.example/x', { method: 'POST', body: 'b', headers: { a: 'b' } });
          const bytes = await context.files.get('/home/user/x');
          return { ids: [context.conversationId, context.userId, context.tenantId, context.agentId, context.turnId, context.callId], env: context.env, config: context.config,
            value: await context.store.get('k'), none: (await context.store.get('no')) === undefined, keys: await context.store.list(),
            answer: [response.status, response.ok, response.headers.get('X-A'), await response.text()], bytes: [...bytes],
            put: await context.files.put({ bytes: new Uint8Array(3), name: 'a' }), exec: await context.sandbox.exec('ls') };`,
        handle: 'return context.sandbox.handle();',
        verbose: `context.logger.info('x'.repeat(20_000_000)); console.log(['y'.repeat(20_000_000)]); context.heartbeat('z'.repeat(20_000_000))`,
        throws: `throw new TypeError('no such city');`,
        nothing: '',
        cycle: 'const a: any = {}; a.a = a; return a;',
        after: `setTimeout(() => context.send('late').catch((error: Error) => console.log(error.message)), 0);`,
      },
      { permissions: { network: ['api.example'] } },
    ),
  );
  const context = contextOf('conv-1', { env: { KEY: 'v' }, config: { unit: 'C' } });
  expect(await run(plugin, 'all', {}, context)).toEqual({
    ids: ['conv-1', 'user-1', 'tenant-1', 'agent-1', 'turn-1', 'call-1'],
    env: { KEY: 'v' },
    config: { unit: 'C' },
    value: { deep: [1] },
    none: true,
    keys: ['k'],
    answer: [201, true, 'b', 'fetched'],
    bytes: [0, 255],
    put: '/home/user/files/3',
    exec: { exitCode: 0, stdout: 'ran ls' },
  });
  expect(context.told).toEqual(['info hello {"a":1}', 'warn from {"console":true}', 'heartbeat half', 'send "hi"', 'note noted']);
  expect(await problemOf(run(plugin, 'handle'))).toBe('sandbox.handle() is not available to plugins in isolated processes; use sandbox.exec, runCode or start');
  expect(await problemOf(run(plugin, 'throws'))).toBe('no such city');
  expect(await run(plugin, 'nothing')).toBeNull();
  expect(await problemOf(run(plugin, 'cycle'))).toContain('circular');
  const verbose = contextOf('conv-1');
  await run(plugin, 'verbose', {}, verbose);
  expect(verbose.told.map((line) => line.length)).toEqual(['info '.length + 4_000, 'info '.length + 4_000, 'heartbeat '.length + 200]);
  const late = contextOf('conv-1');
  await run(plugin, 'after', {}, late);
  await run(plugin, 'nothing');
  expect(late.told).toEqual([]);
});

describe('the five permissions', () => {
  const USES = {
    time: 'return [typeof Date.now(), typeof new Date().getTime(), new Intl.DateTimeFormat("en").resolvedOptions().timeZone]',
    random: 'return Math.random() < 1',
    network: `return (await fetch('https://api.example/')).status`,
    ownFetch: `return (await context.fetch('https://api.example/')).status`,
    env: 'return context.env',
    fs: 'return readFile(input.path)',
    later: `return [new Date(0).toISOString(), Math.max(1, 2), typeof setTimeout(() => 0, 1), new Date(0).toLocaleString()]`,
  };

  test('what is not granted does not exist, at module level neither', async () => {
    const plugin = await bench.load('denied', sourceOf('denied', USES));
    expect(await problemOf(run(plugin, 'time'))).toMatch(/secure mode/i);
    expect(await problemOf(run(plugin, 'random'))).toMatch(/secure mode/i);
    expect(await problemOf(run(plugin, 'network'))).toMatch(/^fetch is not (defined|a function); the network is there only while /);
    expect(await problemOf(run(plugin, 'ownFetch'))).toBe('Request to "https://api.example/" refused: this tool has no permission for the network');
    expect(await run(plugin, 'env')).toEqual({});
    expect(await problemOf(run(plugin, 'fs', { path: '/etc/hostname' }))).toMatch(/^readFile is not (defined|a function); reading files is there only while /);
    expect(await run(plugin, 'later')).toEqual(['1970-01-01T00:00:00.000Z', 2, 'number', expect.not.stringContaining('1970-01-01T01')]);
    await expect(bench.load('early', sourceOf('early', {}, { top: 'const at = Date.now();' }))).rejects.toThrow(/secure mode/i);
  });

  test('what is granted works, within its bounds', async () => {
    const data = join(bench.directory, 'data');
    await mkdir(data, { recursive: true });
    await mkdir(`${data}-secret`, { recursive: true });
    await writeFile(join(data, 'a.txt'), 'readable');
    await writeFile(join(`${data}-secret`, 'b.txt'), 'secret');
    await symlink(join(`${data}-secret`, 'b.txt'), join(data, 'link.txt'));
    await symlink(`${data}-secret`, join(data, 'folder'));
    const permissions = { time: true, random: true, network: ['api.example'], env: ['KEY'], fs: [data] };
    const plugin = await bench.load('granted', sourceOf('granted', USES, { permissions }));
    expect(await run(plugin, 'time')).toEqual(['number', 'number', 'UTC']);
    expect(await run(plugin, 'random')).toBe(true);
    expect([await run(plugin, 'network'), await run(plugin, 'ownFetch')]).toEqual([201, 201]);
    expect(await run(plugin, 'env', {}, contextOf('conv-1', { env: { KEY: 'v' } }))).toEqual({ KEY: 'v' });
    expect(await run(plugin, 'fs', { path: join(data, 'a.txt') })).toBe('readable');
    const outside = [
      '/etc/hostname',
      `${data}-secret/b.txt`,
      `${data}/link.txt`,
      `${data}/folder/b.txt`,
      `${data}/../data-secret/b.txt`,
      'a.txt',
      data,
      `${data}/none`,
      '\0',
    ];
    for (const path of outside) expect(await problemOf(run(plugin, 'fs', { path }))).toBe(`${path}: is not readable for this plugin; it may read ${data}`);
  });
});

test('a result that JSON does not know is an error of its call, and costs no process', async () => {
  const plugin = await bench.load(
    'odd',
    sourceOf('odd', { fn: 'return () => 1', big: 'return 1n', count: 'return (globalThis as any).n = ((globalThis as any).n ?? 0) + 1' }),
  );
  await run(plugin, 'count');
  expect(await problemOf(run(plugin, 'fn'))).toBe('it returned a function, which is no JSON');
  expect(await problemOf(run(plugin, 'big'))).toContain('BigInt');
  expect(await run(plugin, 'count')).toBe(2);
});

test('what one conversation keeps in variables and globals is not seen by another', async () => {
  const count = 'const g: any = globalThis; g.seen = (g.seen ?? 0) + 1; calls += 1; return [calls, g.seen];';
  const plugin = await bench.load('counts', sourceOf('counts', { count }, { top: 'let calls = 0;' }));
  const [one, two] = [contextOf('conv-1'), contextOf('conv-2')];
  expect([await run(plugin, 'count', {}, one), await run(plugin, 'count', {}, one), await run(plugin, 'count', {}, two)]).toEqual([
    [1, 1],
    [2, 2],
    [1, 1],
  ]);
});

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
