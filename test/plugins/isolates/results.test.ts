import { deferred } from '../../../src/common/deferred.ts';
import { contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

const MOST = 16 * 1024 * 1024;

test('what is too long for a line is refused by its bytes, and costs no process', async () => {
  const plugin = await bench.load(
    'long',
    sourceOf('long', {
      result: `return '中'.repeat(6_000_000)`,
      question: `return context.store.set('k', '中'.repeat(6_000_000))`,
      error: `throw new Error('x'.repeat(${MOST}))`,
      problems: `throw Object.assign(new Error('no'), { values: { problems: 'y'.repeat(${MOST}) } })`,
      count: 'const kept = globalThis as { n?: number }; return (kept.n = (kept.n ?? 0) + 1)',
    }),
  );
  await run(plugin, 'count');
  expect(await problemOf(run(plugin, 'result'))).toMatch(/^its result has 180000\d\d bytes as JSON; at most 16777216 are allowed$/);
  expect(await problemOf(run(plugin, 'question'))).toMatch(/^store\.set was given 180000\d\d bytes as JSON; at most 16777216 are allowed$/);
  expect(await problemOf(run(plugin, 'error'))).toBe('x'.repeat(100_000));
  expect(await problemOf(run(plugin, 'problems'))).toContain(`${'y'.repeat(100_000)}. Correct them`);
  expect(await run(plugin, 'count')).toBe(2);
});

test('a name that a compartment does not have is said with what to use instead, also during a call', async () => {
  const plugin = await bench.load(
    'absent',
    sourceOf('absent', { clone: 'return structuredClone(input)', own: 'return (undefined as unknown as (n: number) => void)(1)' }),
  );
  expect(await problemOf(run(plugin, 'clone'))).toBe(
    'structuredClone is not a function; structuredClone does not exist in a compartment, use JSON.parse(JSON.stringify(value))',
  );
  expect(await problemOf(run(plugin, 'own'))).not.toContain('compartment');
});

test('a call that throws what cannot be read fails at once', async () => {
  const plugin = await bench.load(
    'unreadable',
    sourceOf('unreadable', {
      getter: `throw { get values() { throw new Error('read'); } }`,
      proxy: `throw new Proxy({}, { get() { throw new Error('read'); } })`,
    }),
  );
  expect(await problemOf(run(plugin, 'getter'))).toBe('something that has no text');
  expect(await problemOf(run(plugin, 'proxy'))).toBe('something that has no text');
});

test('code that a cancellation runs does not keep what was sent after it from being read', async () => {
  const plugin = await bench.load(
    'trap',
    sourceOf('trap', {
      trap: `Object.defineProperty(context.signal, 'onabort', { get() { throw new Error('read'); } });
        await new Promise((done) => { context.signal.addEventListener('abort', done); context.heartbeat('waits'); });`,
      other: 'return 1',
    }),
  );
  const context = contextOf('conv-1');
  const waits = new Promise<void>((done) => Object.assign(context, { heartbeat: () => done() }));
  const trapped = problemOf(run(plugin, 'trap', {}, context));
  await waits;
  context.abort(new Error('stopped'));
  const other = run(plugin, 'other', {}, contextOf('conv-2'));
  expect([await trapped, await other]).toEqual(['stopped', 1]);
  expect(bench.logged.filter((line) => line.includes('unhandled'))).toEqual([]);
});

test('a call has few files at a time in the memory of the worker, and waits for the others', async () => {
  const ask = `const asked = Array.from({ length: 20 }, (_, index) => context.files.get('f' + index));`;
  const plugin = await bench.load(
    'files',
    sourceOf('files', {
      all: `${ask} await context.store.get('k'); context.heartbeat('asked'); const all = await Promise.all(asked); return all.map(([byte]) => byte)`,
      leave: `${ask} for (const each of asked) each.catch(() => {}); await context.store.get('k'); return 'left'`,
      next: `return 'next'`,
    }),
  );
  let [gate, begun, open, most] = [deferred<void>(), 0, 0, 0];
  const get = async (path: string): Promise<Uint8Array> => {
    begun += 1;
    most = Math.max(most, (open += 1));
    await gate.promise;
    open -= 1;
    return new Uint8Array([Number(path.slice(1))]);
  };
  const files = { get, put: async () => '' };
  const all = run(plugin, 'all', {}, contextOf('conv-1', { files, heartbeat: () => gate.resolve() }));
  expect(await all).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(most).toBe(4);
  [gate, begun] = [deferred<void>(), 0];
  expect(await run(plugin, 'leave', {}, contextOf('conv-1', { files }))).toBe('left');
  gate.resolve();
  expect(await run(plugin, 'next')).toBe('next');
  expect(begun).toBe(4);
});

test('a plugin gives its tools no fields that Longshore sets', async () => {
  const fields = {
    hook: { point: 'received', order: [0], stopsOnFailure: true, handler: 'h' },
    client: { timeoutMs: 1_000, otherwise: 'fail' },
    webhook: { endpoint: 'e', name: 'n', description: 'd' },
    isCommand: true,
    mayAsk: true,
    mayAskModel: true,
    mayGoOn: true,
    summarize: 'text',
    ownSandbox: {},
  };
  const tool = { id: 't', description: 'd', parameters: { type: 'object' }, kind: 'tool', annotations: {}, timeoutMs: 1_000, isolation: 'compartment' };
  const plugin = await bench.load(
    'forger',
    `const tool = { ...${JSON.stringify({ ...tool, ...fields, brief: 'b', metadata: { a: 1 } })}, execute: async () => 'done' };
     export default { id: 'forger', tools: [tool] };`,
  );
  const [made] = plugin.tools;
  expect(made).toMatchObject({ ...tool, brief: 'b', metadata: { a: 1 }, permissions: {}, summarize: undefined });
  expect(Object.keys(fields).filter((name) => made?.[name as keyof typeof made] !== undefined)).toEqual([]);
  expect(await run(plugin, 't')).toBe('done');
});
