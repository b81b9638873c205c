import { keepCommentsInThread } from '../../../../src/plugins/dialects/nekro/reader/keep-comments-in-thread.ts';

const MOUNTED = "/** Counts. */\np.mountSandboxMethod('tool', 'count')(async function count(ctx) {});";
const LIMITS = { ms: 60_000, mb: 256 };

test('a source is read in a thread', async () => {
  const kept = await keepCommentsInThread(MOUNTED, 'ts', LIMITS);
  expect(kept).toEqual({ source: expect.stringContaining('{"name":"count","doc":"Counts.","parameters":[') as string });
});

test.each([
  ['nested brackets', '('.repeat(100_000) + '1' + ')'.repeat(100_000)],
  ['nested functions', 'function f(){'.repeat(100_000) + '}'.repeat(100_000)],
  ['a long sum', `1${'+1'.repeat(1_000_000)}`],
  ['nested types', `type A = ${'()=>'.repeat(100_000)}a`],
])('100,000 levels of nesting are refused, and end nothing but the thread: %s', async (_, source) => {
  const problem = 'is nested so deeply that its methods cannot be read';
  expect(await keepCommentsInThread(`${MOUNTED}\n${source}`, 'ts', LIMITS)).toEqual({ problem, fix: 'Mount the methods in another file' });
  expect(await keepCommentsInThread(MOUNTED, 'ts', LIMITS)).toHaveProperty('source');
});

test.each([
  ['time', `${MOUNTED}\n${'a:'.repeat(100_000)};`, { ms: 300, mb: 256 }, 'that takes more than 300 ms'],
  ['memory', `${MOUNTED}\n${'a=1;'.repeat(600_000)}`, { ms: 60_000, mb: 32 }, 'that takes more than 32 MB of memory'],
])('a source that takes too much %s is refused, and the next one is read', async (_, source, limits, reason) => {
  const problem = `cannot be read for the comments of its methods: ${reason}`;
  expect(await keepCommentsInThread(source, 'ts', limits)).toEqual({ problem, fix: 'Mount the methods in another file' });
  expect(await keepCommentsInThread(MOUNTED, 'ts', LIMITS)).toHaveProperty('source');
});

test('a source that is too long is refused before it is read', async () => {
  const problem = 'mounts methods and is longer than 4194304 characters';
  expect(await keepCommentsInThread(`${MOUNTED}\n${' '.repeat(4 * 1024 * 1024)}`, 'ts')).toEqual({ problem, fix: 'Mount the methods in another file' });
});
