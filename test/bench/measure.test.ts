import { compare, compareWithLimit } from '../../bench/measure.ts';

const head = { name: 'some', goal: 2, unit: 'ms', baselineIs: 'another' } as const;

test('the ratio of a comparison is that of the medians', () => {
  expect(compare(head, { subject: [3, 1, 2], baseline: [4, 4, 4] })).toMatchObject({ name: 'some', ratio: 0.5, p50: 2, p95: 3, baseline: { p50: 4 } });
});

test.each([
  ['subject', { subject: [1, Number.NaN], baseline: [1] }],
  ['subject', { subject: [], baseline: [1] }],
  ['baseline', { subject: [1], baseline: [] }],
])('a %s that was not measured is an error, and no missed goal', (_, samples) => {
  expect(() => compare(head, samples)).toThrow('some: nothing was measured');
});

test('a limit is compared with in the same way', () => {
  expect(compareWithLimit({ name: 'some', unit: 'ms', limit: 10 }, [5])).toMatchObject({ ratio: 0.5, goal: 1 });
  expect(() => compareWithLimit({ name: 'some', unit: 'ms', limit: 10 }, [])).toThrow('nothing was measured');
});
