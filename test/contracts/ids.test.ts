import * as fc from 'fast-check';
import { makeId, timeOfId } from '../../src/contracts/ids.ts';

const times = fc.integer({ min: 0, max: 4_102_444_800_000 });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('an id is its prefix and 22 characters that no one confuses', () => {
  fc.assert(
    fc.property(times, randoms, (now, random) => {
      expect(makeId('conv', now, () => random)).toMatch(/^conv_[0-9a-hj-km-np-tv-z]{22}$/);
    }),
  );
});

test('ids sort by the time they were made at', () => {
  fc.assert(
    fc.property(times, times, randoms, randoms, (first, second, one, other) => {
      fc.pre(first < second);
      expect(makeId('turn', first, () => one) < makeId('turn', second, () => other)).toBe(true);
    }),
  );
});

test('an id says when it was made, and another text does not', () => {
  fc.assert(
    fc.property(times, randoms, (now, random) =>
      expect(
        timeOfId(
          'turn',
          makeId('turn', now, () => random),
        ),
      ).toBe(now),
    ),
  );
  expect([
    timeOfId('turn', 'turn_first'),
    timeOfId(
      'turn',
      makeId('conv', 1, () => 0),
    ),
  ]).toEqual([undefined, undefined]);
});

test('the same time and the same randomness give the same id', () => {
  expect(makeId('call', 1, () => 0.5)).toBe(makeId('call', 1, () => 0.5));
});
