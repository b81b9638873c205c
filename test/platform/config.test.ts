import { checkDatabaseUrl, loadConfig } from '../../src/platform/config.ts';

const production = (url: string) => () => checkDatabaseUrl({ NODE_ENV: 'production' }, url);

describe('in production', () => {
  const refusal =
    'DATABASE_URL: its password is a well-known default, and NODE_ENV is "production". Give the database user a password of its own, and use an address with it';

  test.each(['postgres://longshore:longshore@db:5432/longshore', 'postgres://app:Postgres@db/app', 'postgresql://app:%63hangeme@db/app'])(
    'a database address with a well-known password is refused: %s',
    (url) => expect(production(url)).toThrow(refusal),
  );

  test('so is the default, which is that of the development stack', () => {
    expect(production(loadConfig({}).DATABASE_URL)).toThrow(refusal);
  });

  test.each(['postgres://app:Xk29vQ@db/app', 'postgres://app@db/app', 'postgres:///app?host=/run/postgresql', 'postgres://app:50%@db/app'])(
    'others are taken: %s',
    (url) => expect(production(url)()).toBe(url),
  );
});

test('in development the default is taken', () => {
  const config = loadConfig({});
  expect(checkDatabaseUrl(config, config.DATABASE_URL)).toBe('postgres://longshore:longshore@127.0.0.1:5433/longshore');
});

describe('an address of a database', () => {
  test.each(['host=db dbname=app password=Xk29vQ', 'app:Xk29vQ@db/app', 'http://app:Xk29vQ@db/app'])(
    'that is none is refused at the start, and not shown: %s',
    (url) => {
      const problem = 'its value is not usable (write postgres://user:password@host:port/database)';
      expect(() => loadConfig({ DATABASE_URL: url })).toThrow(`DATABASE_URL: ${problem}. Correct it or unset it; docs/settings.md lists the variables`);
    },
  );

  test.each(['postgresql://app@db/app', 'postgres:///app?host=/run/postgresql', '/run/postgresql app', 'socket:/run/postgresql?db=app'])(
    'is taken: %s',
    (url) => expect(loadConfig({ DATABASE_URL: url }).DATABASE_URL).toBe(url),
  );
});

test.each([
  ['LONGSHORE_SNAPSHOT_LIMIT', 'many', 'write a number'],
  ['LONGSHORE_SNAPSHOT_LIMIT', '1.5', 'write a whole number'],
  ['LONGSHORE_SNAPSHOT_LIMIT', '0', 'write a number from 1'],
  ['LONGSHORE_SNAPSHOT_DAYS', '0', 'write a number above 0'],
  ['LONGSHORE_TRACE_RATIO', '2', 'write a number up to 1'],
  ['LONGSHORE_WATCH', 'true', 'write yes or no'],
  ['LONGSHORE_LOG_LEVEL', 'verbose', 'write trace, debug, info, warn, error or silent'],
])('%s=%s says what to write', (name, value, what) => {
  expect(() => loadConfig({ [name]: value })).toThrow(
    `${name}: "${value}" is not usable (${what}). Correct it or unset it; docs/settings.md lists the variables`,
  );
});

describe.each(['LONGSHORE_METRICS_ADDRESS', 'LONGSHORE_HOST_ADDRESS', 'LONGSHORE_API_ADDRESS'] as const)('%s', (name) => {
  test.each([
    'foo:99999',
    '999.1.1.1:9464',
    'a b:9464',
    'http://127.0.0.1:9464',
    'user:word@127.0.0.1:9464',
    '127.0.0.1:9464#x:1',
    '127.0.0.1/x:1',
    'x?:1',
    '::1:9464',
  ])('is refused at the start: %s', (value) =>
    expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`^${name}: .* is not usable \\(write host:port, such as `)),
  );

  test.each(['127.0.0.1:0', '[::1]:9464', 'metrics.internal:80', '0.0.0.0:65535'])('is taken: %s', (value) =>
    expect(loadConfig({ [name]: value })[name]).toBe(value),
  );
});
