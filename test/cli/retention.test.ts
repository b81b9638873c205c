import { connect, type Longshore } from '../../src/client.ts';
import { createTestDatabase } from '../support/databases.ts';
import { runLine } from './support.ts';

let longshore: Longshore;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
  longshore = await connect({ databaseUrl: database.url, lazy: true });
});
afterAll(async () => {
  await longshore[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const line = (...words: string[]) => runLine(longshore, ['retention', ...words], { environment: { ...process.env, DATABASE_URL: database.url } });

test('a tenant gets a retention of its own, for a time or for ever, and loses it again; the audit log says who did it', async () => {
  expect((await line('ls')).out).toBe('None.\n');
  expect((await line('set', 'acme', '30d')).out).toBe('Closed conversations of acme are kept for 30d.\n');
  expect((await line('set', 'archive', 'keep')).out).toBe('Closed conversations of archive are kept for ever.\n');
  expect((await line('ls')).out).toBe('TENANT   KEPT\nacme     30d\narchive  for ever\n');
  expect((await line('unset', 'acme')).out).toBe('Closed conversations of acme are kept as LONGSHORE_RETENTION of the workers says.\n');
  expect(JSON.parse((await line('ls', '--json')).out)).toEqual([{ tenantId: 'archive', keepMs: null }]);
  const { entries } = await longshore.audit.list({ action: 'retention.set' });
  expect(entries.map(({ target, details }) => [target, details])).toEqual([
    ['acme', {}],
    ['archive', { keepMs: null }],
    ['acme', { keepMs: 30 * 86_400_000 }],
  ]);
});

test.each(['', ' ', 'x'.repeat(201), 'two\nlines'])('%j is no tenant: a variable of a script that is not set changes nothing', async (tenant) => {
  const before = (await longshore.audit.list({ action: 'retention.set' })).entries.length;
  const { code, err } = await line('set', tenant, '30d');
  expect([code, err]).toEqual([2, expect.stringMatching(/^tenant: .* Write 1 to 200 characters\n$/)]);
  expect((await line('ls')).out).not.toContain('30d');
  expect((await longshore.audit.list({ action: 'retention.set' })).entries).toHaveLength(before);
});

test.each(['0', '0d', 'soon', '-1d'])('"%s" is no time to keep conversations for', async (text) => {
  const { code, err } = await line('set', 'acme', '--', text);
  expect([code, err]).toEqual([2, expect.stringContaining('Give a duration such as 30d, or "keep".')]);
});
