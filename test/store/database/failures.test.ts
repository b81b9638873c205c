import { postgresFailure, isPostgresAway } from '../../../src/store/database/database-failures.ts';

const failed = (code: string, message: string) => postgresFailure(Object.assign(new Error(message), { code }));

test('a full disk of Postgres is told as such, and ends by itself', () => {
  const full = failed('53100', 'could not extend file "base/16384/16385": No space left on device');
  expect(full).toMatchObject({
    code: 'POSTGRES_FULL',
    message:
      'Postgres has no room for this: could not extend file "base/16384/16385": No space left on device. Give its disk room; what waits for it goes on by itself then',
  });
  expect(isPostgresAway(full)).toBe(true);
});

test.each([
  ['53000', 'insufficient resources'],
  ['53200', 'out of memory'],
  ['53300', 'sorry, too many clients already'],
  ['57P02', 'terminating connection because of crash of another server process'],
  ['57P03', 'the database system is in recovery mode'],
  ['58030', 'could not read block 0 in file "base/16384/16385": Input/output error'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
])('an error %s of Postgres (%s) says that it cannot be used now', (code, message) => {
  const error = failed(code, message);
  expect(error.message).toBe(`Postgres cannot be used: ${message}. Check DATABASE_URL, or start the stack: longshore dev`);
  expect(isPostgresAway(error)).toBe(true);
});

test('a wrong statement is an error of ours, which does not end by itself', () => {
  const error = failed('42P01', 'relation "nothing" does not exist');
  expect(error.code).toBe('INTERNAL');
  expect(isPostgresAway(error)).toBe(false);
});
