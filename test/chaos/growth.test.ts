import { growthOf, tableOf, type Sample } from '../../scripts/chaos/soak/growth.ts';

const FLAT: Sample = { workerMb: 200, serviceMb: 100, handles: 100, children: 4, containers: 4, rowsEach: 50 };
/** Sixty samples of which one figure goes from its value to another one. */
const rising = (figure: keyof Sample, to: number): Sample[] =>
  Array.from({ length: 60 }, (_, index) => ({ ...FLAT, [figure]: FLAT[figure] + ((to - FLAT[figure]) * index) / 59 }));

test('what stays as it is has not grown', () => {
  expect(growthOf(rising('workerMb', 200))).toEqual([]);
});

test('what the rule allows has not grown, and a little more has', () => {
  expect(growthOf(rising('workerMb', 270))).toEqual([]);
  expect(growthOf(rising('workerMb', 320))).toEqual(['MB, the largest worker: 236.6 at the start and 309.8 at the end; 292.1 are allowed']);
  expect(growthOf(rising('containers', 20))).toHaveLength(1);
});

test('the time of warming up does not count', () => {
  const warming = rising('handles', 100).map((sample, index) => (index < 12 ? { ...sample, handles: 10 } : sample));
  expect(growthOf(warming)).toEqual([]);
});

test('the table has the start, the middle and the end of each figure', () => {
  expect(tableOf(rising('rowsEach', 50))).toContain('rows for each conversation: start 50, middle 50, end 50');
  expect(tableOf(rising('rowsEach', 50))).toHaveLength(6);
});
