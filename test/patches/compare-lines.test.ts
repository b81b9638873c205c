import { compareLines } from '../../src/patches/compare-lines.ts';
import { describeDifference } from '../../src/patches/describe-difference.ts';

const text = (content: string) => Buffer.from(content);
const hunks = (before: string, after: string) => compareLines(text(before), text(after), { leftMs: 1000 }).hunks.toString();

test('hunks have three lines around each change, and changes that are near each other share one', () => {
  const before = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('');
  const after = before.replace('2\n', 'two\n').replace('\n9\n', '\nnine\n').replace('\n30\n', '\n30');
  const compared = compareLines(text(before), text(after), { leftMs: 1000 });
  expect(compared).toMatchObject({ added: 3, removed: 3, exact: true });
  expect(compared.hunks.toString().match(/@@.*@@/g)).toEqual(['@@ -1,12 +1,12 @@', '@@ -27,4 +27,4 @@']);
});

test('an end without a line break is told, and an empty text has no lines', () => {
  expect(hunks('a', 'a\n')).toBe('@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n');
  expect(hunks('', 'a\n')).toBe('@@ -0,0 +1,1 @@\n+a\n');
  expect(hunks('a\nb', '')).toBe('@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n');
});

test.each([
  ['of more lines than are compared', 'line\n'.repeat(150_000), 1000],
  ['when there is no time left', 'line\n', 0],
])('a text of which only the permission bits have changed has no changed lines, also %s', async (_when, content, leftMs) => {
  const side = (mode: number) => ({ type: 'file' as const, mode, size: content.length, content: text(content) });
  const { change, patch } = await describeDifference({ path: 'run', before: side(0o644), after: side(0o755) }, { patch: true, budget: { leftMs } });
  expect(change).toMatchObject({ change: 'mode', lines: { added: 0, removed: 0, exact: true } });
  expect(patch.toString()).toBe('diff --git a/run b/run\nold mode 100644\nnew mode 100755\n');
});

test('what would take long counts as replaced, and holds the process up for a moment only', () => {
  const random = (seed: number, lines: number) => text(Array.from({ length: lines }, (_, index) => `${(index * seed) % 65_537}\n`).join(''));
  const hostile: [Buffer, Buffer][] = [
    [random(7919, 90_000), random(104_729, 90_000)],
    [Buffer.alloc(4_000_000, '\n'), Buffer.alloc(4_000_000, 'x\n')],
    [Buffer.alloc(4_000_000, 'x'), Buffer.alloc(4_000_000, 'y')],
  ];
  for (const [before, after] of hostile) {
    const started = process.cpuUsage();
    const compared = compareLines(before, after, { leftMs: 60_000 });
    const { user } = process.cpuUsage(started);
    // Without limits of its own, the first one would take all of the budget. The time of a busy machine is several times that of a quiet one.
    expect(user).toBeLessThan(20_000_000);
    expect(compared.hunks.length).toBeGreaterThan(before.length + after.length);
  }
  const budget = { leftMs: 0 };
  expect(compareLines(text('a\nb\n'), text('a\nc\n'), budget)).toMatchObject({ exact: false, added: 2, removed: 2 });
});
