import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { BY, newId, silent } from '../support.ts';

const [OLD, NEW] = [`old:${randomBytes(32).toString('base64')}`, `new:${randomBytes(32).toString('base64')}`];
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ sandboxes: 'invented' });
}, 60_000);
afterAll(() => database[Symbol.asyncDispose]());

const open = (keys?: string) => openStore({ url: database.url, log: silent, poolSize: 1, keys: readEncryptionKeys(keys) });

async function make(store: Store, secret: string): Promise<string> {
  const webhookId = newId('hook');
  await store.webhooks.create({ webhookId, tenantId: newId('evt'), url: 'http://a.example', secret }, 20, BY);
  return webhookId;
}

/** What everybody sees who can read the database. */
async function stored(query: string): Promise<string> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return JSON.stringify((await client.query(query)).rows);
  } finally {
    await client.end();
  }
}

test('with a key, the database has no secret of a webhook in plain text; a sender gets it', async () => {
  await using store = await open(NEW);
  const webhookId = await make(store, 'whsec_plain1');
  await store.webhooks.rotate(webhookId, 'whsec_plain2', 60_000, BY);
  const rows = await stored(`select * from webhooks where webhook_id = '${webhookId}'`);
  expect(rows).not.toContain('whsec_');
  expect(rows.match(/sealed:1:new:/g)).toHaveLength(2);
  expect(await store.webhooks.secretsOf(webhookId)).toEqual(['whsec_plain2', 'whsec_plain1']);
  await store.webhooks.begin(webhookId, 'test');
  expect((await store.webhooks.next(webhookId, 'test', 1000))?.secrets).toEqual(['whsec_plain2', 'whsec_plain1']);
});

test('secrets from before the keys, and of keys that are not the first any more, are read; without their key they are not', async () => {
  await using plain = await open();
  await using old = await open(OLD);
  await using both = await open(`${NEW},${OLD}`);
  const [before, earlier] = [await make(plain, 'whsec_before'), await make(old, 'whsec_earlier')];
  expect(await stored(`select secret from webhooks where webhook_id = '${before}'`)).toContain('whsec_before');
  expect(await both.webhooks.secretsOf(before)).toEqual(['whsec_before']);
  expect(await both.webhooks.secretsOf(earlier)).toEqual(['whsec_earlier']);
  for (const [store, known] of [
    [plain, 'none'],
    [await open(NEW), 'new'],
  ] as const) {
    await expect(store.webhooks.secretsOf(earlier)).rejects.toMatchObject({ code: 'ENCRYPTION_KEY_UNKNOWN', values: { keyId: 'old', known } });
    if (store !== plain) await store[Symbol.asyncDispose]();
  }
});

test('a secret cannot be read in the place of another, nor with another key of that id', async () => {
  await using store = await open(NEW);
  const [one, two] = [await make(store, 'whsec_one'), await make(store, 'whsec_two')];
  await stored(`update webhooks set secret = (select secret from webhooks where webhook_id = '${one}') where webhook_id = '${two}'`);
  await expect(store.webhooks.secretsOf(two)).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' });
  await using other = await open(`new:${randomBytes(32).toString('base64')}`);
  await expect(other.webhooks.secretsOf(one)).rejects.toMatchObject({ code: 'SECRET_UNREADABLE', values: { keyId: 'new' } });
});

test("the key of the hosts' authority is encrypted too", async () => {
  await using store = await open(NEW);
  const made = { key: 'private-of-hosts', certificate: 'public' };
  expect(await store.hosts.authority(() => made)).toEqual(made);
  const rows = await stored('select * from host_authority');
  expect([rows.includes('private-of-hosts'), rows.includes('sealed:1:new:')]).toEqual([false, true]);
});
