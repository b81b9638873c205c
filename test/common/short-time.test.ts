import { shortTime } from '../../src/common/short-time.ts';

test('a time of the database in a form for tables', () => {
  expect(shortTime('2026-01-31T12:34:56.789Z')).toBe('2026-01-31 12:34:56');
});
