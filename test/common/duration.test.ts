import { parseDuration, parseTimeOrAge } from '../../src/common/duration.ts';

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

test.each([
  ['2027-01-31', Date.UTC(2027, 0, 31)],
  ['2027-01-31T09:00:00Z', Date.UTC(2027, 0, 31, 9)],
  ['2027-01-31T09:00:00.250+01:00', Date.UTC(2027, 0, 31, 8, 0, 0, 250)],
])('the time %s is read', (text, expected) => {
  expect(parseTimeOrAge(text)).toBe(expected);
});

test('an age is so long ago', () => {
  expect(Math.abs(Date.now() - 86_400_000 - parseTimeOrAge('24h'))).toBeLessThan(60_000);
});

test.each(['', '7', '-1', '0', '1.5', 'May 7', '2027', '2026-02-30', '2026-02-30T00:00:00Z', '2027-01-31T09:00:00', 'soon'])('"%s" is no time', (text) => {
  expect(parseTimeOrAge(text)).toBeNaN();
});
