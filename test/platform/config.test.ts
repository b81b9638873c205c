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
