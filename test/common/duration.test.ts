import { parseDuration } from '../../src/common/duration.ts';

test.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['1.5h', 5_400_000],
  ['7d', 604_800_000],
  ['0s', 0],
])('%s is %d milliseconds', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

test.each(['', '30', '-1s', '3 days', 's', '1h30m'])('"%s" is refused with a way to write it', (text) => {
  expect(() => parseDuration(text)).toThrow(`Duration: "${text}" is none. Write 30s, 10m, 24h or 7d`);
});
