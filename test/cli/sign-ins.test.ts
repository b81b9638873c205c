import { randomBytes } from 'node:crypto';
import { connect, type Longshore } from '../../src/client.ts';
import { readEncryptionKeys } from '../../src/platform/encryption-keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { silent } from '../store/support.ts';
import { createTestDatabase } from '../support/databases.ts';
import { runLine } from './support.ts';

let longshore: Longshore;
let store: Store;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
  longshore = await connect({ databaseUrl: database.url, lazy: true });
  store = await openStore({ url: database.url, log: silent, poolSize: 1, keys: readEncryptionKeys(`key:${randomBytes(32).toString('base64')}`) });
});
afterAll(async () => {
  for (const each of [longshore, store, database]) await each[Symbol.asyncDispose]();
});

const line = (...words: string[]) => runLine(longshore, ['sign-ins', ...words], { environment: { ...process.env, DATABASE_URL: database.url } });

test('sign-ins are listed without their tokens, and ended with what the server has listed for the user', async () => {
  expect((await line('ls')).out).toBe('None.\n');
  const place = { tenantId: 'default', userId: 'ada', server: 'desk' };
  const tokens = { url: 'https://desk.example/mcp', issuer: 'https://auth.example', scope: 'notes', secret: { tokens: 'canary' } };
  await store.signIns.tokens.put(place, tokens);
  const shelf = { pluginId: 'desk', tenantId: 'default', userId: 'ada' };
  await store.pluginStore.set(shelf, 'tools', { url: tokens.url, listed: { version: '1', tools: [] } });
  const today = new Date().toISOString().slice(0, 10);
  expect((await line('ls', '--user', 'ada')).out).toBe(
    `TENANT   USER  SERVER  AT                    ALLOWED  SINCE       RENEWED\ndefault  ada   desk    https://auth.example  notes    ${today}  ${today}\n`,
  );
  expect((await line('ls', '--user', 'bob')).out).toBe('None.\n');
  const json = (await line('ls', '--json')).out;
  expect(JSON.parse(json)).toMatchObject([{ ...place, scope: 'notes' }]);
  expect(json).not.toContain('canary');
  expect((await line('end', 'desk', '--user', 'ada')).out).toBe(
    'ada of the tenant default is signed out at desk. The tokens could not be revoked at its authorization server: ' +
      'This was encrypted with the key "key", which this process does not have (it has none). Add that key to LONGSHORE_ENCRYPTION_KEYS of every worker, ' +
      'service and client, and start them again. They hold there until they end, or until the user removes Longshore there.\n',
  );
  expect(await store.signIns.tokens.get(place)).toBeUndefined();
  expect(await store.pluginStore.entry(shelf, 'tools')).toBeUndefined();
  const again = await line('end', 'desk', '--user', 'ada');
  expect([again.code, again.out]).toEqual([1, 'ada of the tenant default is not signed in at desk.\n']);
  const { entries } = await longshore.audit.list({ action: 'user.sign-out' });
  expect(entries).toMatchObject([{ target: 'desk', tenantId: 'default', details: {} }]);
});
