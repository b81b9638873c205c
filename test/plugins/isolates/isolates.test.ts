import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
  // A slow machine takes a second of its processor for so much.
  await using patient = await openWorkbench({ unresponsiveMs: 10_000 });
  const plugin = await patient.load('large', sourceOf('large', { double: 'return input.text + input.text' }));
  const texts = ['ä€😀'.repeat(200_000), 'x'.repeat(3_000_001), ''];
  const results = await Promise.all(texts.map((text) => run(plugin, 'double', { text })));
  expect(results.map((result, index) => result === `${texts[index]}${texts[index]}`)).toEqual([true, true, true]);
});

test('a tool that returns what JSON has no word for fails alone, and its process goes on', async () => {
  const plugin = await bench.load(
    'wordless',
    `import { definePlugin, defineTool } from 'longshore/plugins';
let calls = 0;
const execute = async ({ what }) => ({ number: (calls += 1), fn: () => 1, symbol: Symbol('a'), set: new Set([1]), pieces: inPieces() })[what];
async function* inPieces() { yield 'a piece'; }
export default definePlugin({ id: 'wordless', version: '1', tools: [defineTool({ id: 'give', description: 'Gives.', parameters: { type: 'object' }, execute })] });`,
  );
  expect(await run(plugin, 'give', { what: 'number' })).toBe(1);
  expect(await problemOf(run(plugin, 'give', { what: 'fn' }))).toBe('it returned a function, which is no JSON');
  expect(await problemOf(run(plugin, 'give', { what: 'symbol' }))).toBe('it returned a symbol, which is no JSON');
  const lost = (kind: string) => `it returned an object of the kind ${kind}, of which JSON keeps nothing; return an object, a list or a text`;
  expect(await problemOf(run(plugin, 'give', { what: 'set' }))).toBe(lost('Set'));
  expect(await problemOf(run(plugin, 'give', { what: 'pieces' }))).toBe(lost('AsyncGenerator'));
  expect(await run(plugin, 'give', { what: 'number' })).toBe(6);
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
    expect(await problemOf(run(plugin, 'network'))).toMatch(/^fetch is not (defined|a function); the network is available only while /);
    expect(await problemOf(run(plugin, 'ownFetch'))).toBe('Request to "https://api.example/" refused: this tool has no permission for the network');
    expect(await run(plugin, 'env')).toEqual({});
    expect(await problemOf(run(plugin, 'fs', { path: '/etc/hostname' }))).toMatch(
      /^readFile is not (defined|a function); reading files is available only while /,
    );
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
  const plugin = await bench.load('odd', sourceOf('odd', { fn: 'return () => 1', big: 'return 1n', count: 'return globalThis.n = (globalThis.n ?? 0) + 1' }));
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
