import { postgresFailure, isPostgresAway } from '../../../src/store/database/database-failures.ts';

const failed = (code: string, message: string) => postgresFailure(Object.assign(new Error(message), { code }));

test.each([
  ['53100', 'could not extend file "base/16384/16385": No space left on device', 'Give its disk room'],
  ['53200', 'out of memory', 'Give it memory, or let it need less (max_connections, work_mem)'],
  ['53300', 'sorry, too many clients already', 'Raise its max_connections, or run fewer workers and services'],
  ['53000', 'insufficient resources', 'Raise the limit that it has reached'],
  ['53400', 'temporary file size exceeds temp_file_limit (1kB)', 'Raise the limit that it has reached'],
])('what Postgres lacks (%s, %s) is told as such, with what to do, and ends by itself', (code, problem, fix) => {
  const full = failed(code, problem);
  expect(full).toMatchObject({
    code: 'POSTGRES_FULL',
    message: `Postgres has no room for this: ${problem}. ${fix}; what waits for it goes on by itself then`,
  });
  expect(isPostgresAway(full)).toBe(true);
});

test.each([
  ['57000', 'operator intervention'],
  ['57014', 'canceling statement due to statement timeout'],
  ['57P01', 'terminating connection due to administrator command'],
  ['57P02', 'terminating connection because of crash of another server process'],
  ['57P03', 'the database system is in recovery mode'],
  ['57P04', 'database "longshore" was dropped'],
  ['57P05', 'terminating connection due to idle-session timeout'],
  ['55P03', 'canceling statement due to lock timeout'],
  ['25P03', 'terminating connection due to idle-in-transaction timeout'],
  ['25P04', 'terminating connection due to transaction timeout'],
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
