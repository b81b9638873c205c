import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { openDatabase, type Database } from '../../../src/store/database/database.ts';
import { createEventWatch } from '../../../src/store/database/event-watch.ts';
import { asTenant, tenantInForce } from '../../../src/store/database/tenant-scope.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../e2e/support.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { BY, newCall, newConversation, newId, silent } from '../support.ts';

/** Row-level security, beneath all that the routes check. */
let base: TestDatabase;
let store: Store;
let database: Database;
const conversations: Record<string, string> = {};
beforeAll(async () => {
  base = await createTestDatabase({ sandboxes: 'invented' });
  store = await openStore({ url: base.url, log: silent });
  await store.prepareTenants();
  database = openDatabase({ url: base.url, log: silent, poolSize: 1 });
  for (const tenant of ['north', 'south']) conversations[tenant] = await fill(tenant);
}, 60_000);
afterAll(async () => {
  await database.close();
  await store[Symbol.asyncDispose]();
  await base[Symbol.asyncDispose]();
});

/** A row of a tenant in every table that has such rows. */
async function fill(tenantId: string): Promise<string> {
  const webhookId = newId('hook');
  await store.webhooks.create({ webhookId, tenantId, url: 'https://a.example', secret: 'whsec_' }, 1, BY);
  const id = await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'test');
  const { deliveryId = '' } = (await store.webhooks.next(webhookId, 'test', 1000))?.delivery ?? {};
  await store.webhooks.delivered({ webhookId, deliveryId, tookMs: 1 }, { url: 'https://a.example' });
  await store.messages.put(id, 'msg_1', 'Ahoy.');
  await store.transcript.append(id, 'turn_1', undefined, 'msg_1', { role: 'user', text: 'Ahoy.', messageId: 'msg_1' } as never);
  await newCall(store, id);
  const insert = (sql: string, values: string[]) => database.query(sql.slice(0, 60), sql, values);
  const sandbox = newId('sbx');
  await insert(
    `insert into sandboxes (sandbox_id, conversation_id, tenant_id, state, host_id, container_name, volume_name, options)
    values ($1, $2, $3, 'running', 'host', 'c', 'v', '{}')`,
    [sandbox, id, tenantId],
  );
  await insert('insert into sandbox_samples (sandbox_id, cpu_ms, memory_bytes, processes) values ($1, 1, 1, 1)', [sandbox]);
  await insert(`insert into snapshots (snapshot_id, sandbox_id, tenant_id, host_id, volume_name, options) values ($1, $1, $2, 'host', 'v', '{}')`, [
    sandbox,
    tenantId,
  ]);
  await insert(`insert into plugin_store (plugin_id, tenant_id, key, value, version) values ('tides', $1, 'key', '1', 1)`, [tenantId]);
  await insert(
    `insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model, input_tokens, output_tokens)
    values ($1, 'step_1', 'turn_1', $2, 'a', 'u', 'm', 1, 1)`,
    [id, tenantId],
  );
  const link = { linkId: `link-${tenantId}`, conversationId: id, sandboxId: sandbox, keyId: 'key', kind: 'download', path: 'a', maxBytes: null } as const;
  await store.fileLinks.create({ ...link, secretSha256: Buffer.alloc(32), ttlMs: 60_000 }, BY);
  await store.apiKeys.create({ keyId: `key-${tenantId}`, tenantId, name: 'one', scopes: ['admin'], secretSha256: Buffer.alloc(32) }, BY);
  return id;
}

async function tables(): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    'tables',
    `select relname as name from pg_class where relforcerowsecurity and relkind = 'r' order by 1`,
    [],
  );
  return rows.map(({ name }) => name);
}

const all = (table: string) => database.query<Record<string, unknown>>(`all.${table}`, `select * from ${table}`, []);

test('a statement for one tenant that names no tenant at all sees the rows of that tenant, and none of another one', async () => {
  const names = await tables();
  expect(names).toEqual(expect.arrayContaining(['conversations', 'events', 'messages', 'transcript', 'tool_calls', 'sandboxes', 'api_keys']));
  for (const table of names) {
    const rows = await all(table);
    const [north, south] = [await asTenant('north', () => all(table)), await asTenant('south', () => all(table))];
    expect([table, north.length + south.length]).toEqual([table, rows.length]);
    // A table of a later migration may be empty here; those that were filled are not.
    expect(north.length).toBe(south.length);
    const text = JSON.stringify(south);
    expect([table, text.includes('north'), text.includes(conversations['north']!)]).toEqual([table, false, false]);
    for (const nobody of ['', 'west', "north' or ''='", '%']) expect(await asTenant(nobody, () => all(table))).toEqual([]);
  }
  expect(await all('events')).toHaveLength(2);
});

test('a statement for one tenant changes nothing of another one, and makes nothing in its name', async () => {
  const north = conversations['north']!;
  const before = await Promise.all((await tables()).map(all));
  await asTenant('south', async () => {
    expect(await database.query('t.update', `update conversations set state = 'closed' where state <> '' and tenant_id <> 'south' returning 1`, [])).toEqual(
      [],
    );
    expect(
      await database.query('t.delete', `delete from messages where message_id <> '' and conversation_id <> $1 returning 1`, [conversations['south']!]),
    ).toEqual([]);
    await expect(store.messages.put(north, 'msg_2', 'Mine.')).rejects.toThrow('violates row-level security policy');
    await expect(database.query('t.give', `update conversations set tenant_id = 'north'`, [])).rejects.toThrow('violates row-level security policy');
    await expect(store.apiKeys.create({ keyId: 'all', name: 'all', scopes: ['admin'], secretSha256: Buffer.alloc(32) }, BY)).rejects.toThrow(
      'violates row-level security policy',
    );
    await expect(store.events.append(north, [{ type: 'conversation.closed', data: {} }])).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    await expect(all('plugin_settings')).rejects.toThrow('permission denied');
  });
  expect(await Promise.all((await tables()).map(all))).toEqual(before);
});

test('role and tenant end with the statement, also with one that fails, and the connection serves the next', async () => {
  const who = () => database.query<{ who: string; tenant: string | null }>('who', `select current_user as who, longshore_tenant() as tenant`, []);
  const [outside] = await who();
  expect(outside).toEqual({ who: outside!.who, tenant: null });
  expect(outside!.who).not.toBe('longshore_tenant');
  for (const tenant of ['north', 'south']) {
    await asTenant(tenant, async () => {
      expect(await who()).toEqual([{ who: 'longshore_tenant', tenant }]);
      await expect(database.query('bad', 'select 1 / 0', [])).rejects.toThrow('division by zero');
      expect(await who()).toEqual([{ who: 'longshore_tenant', tenant }]);
    });
    expect(await who()).toEqual([outside]);
  }
  // Many at once share the one connection, each with its own tenant.
  const tenants = Array.from({ length: 50 }, (_, index) => `tenant-${index}`);
  const seen = await Promise.all(tenants.map((tenant) => asTenant(tenant, who)));
  expect(seen.map(([row]) => row?.tenant)).toEqual(tenants);
});

test('what a process counts for all readers is counted for all tenants, also when the reader of one tenant came first', async () => {
  const listener = { closed: false, subscribe: () => () => undefined };
  const counted: unknown[] = [];
  const spy = { query: async () => (counted.push(tenantInForce()), []) } as unknown as Database;
  const watch = createEventWatch({ database: spy, listener: { ...listener, close: async () => undefined } });
  const leave = ['north', 'south'].map((tenant) => asTenant(tenant, () => watch.subscribe(tenant, () => undefined)));
  await until(async () => counted.length > 0, 'the first count');
  leave.forEach((each) => each());
  expect(counted).toEqual([undefined]);
}, 20_000);

test('where the user of the database may not use the role, the service says what an administrator runs; then it works, and workers see all tenants', async () => {
  await using managed = await createTestDatabase({ sandboxes: 'invented', schema: 'none' });
  const admin = new Client(managed.url);
  await admin.connect();
  const user = `user_${randomBytes(4).toString('hex')}`;
  await admin.query(`create role ${user} login password 'ahoy'; grant all on schema public to ${user}`);
  const url = new URL(managed.url);
  [url.username, url.password] = [user, 'ahoy'];
  const limited = await openStore({ url: url.href, log: silent });
  try {
    await expect(limited.prepareTenants()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message:
        `DATABASE_URL: the role longshore_tenant, which keeps tenants apart, cannot be used: the database's user ${user} may not make it or act as it. ` +
        `As an administrator of the database, run: grant longshore_tenant to ${user}`,
    });
    await admin.query(`grant longshore_tenant to ${user}`);
    await limited.prepareTenants();
    await limited.prepareTenants();
    const ids = [await newConversation(limited, { tenantId: 'north' }), await newConversation(limited, { tenantId: 'south' })];
    expect((await limited.conversations.list({ limit: 9 })).map(({ conversationId }) => conversationId).toSorted()).toEqual(ids.toSorted());
    const south = await asTenant('south', () => limited.conversations.list({ limit: 9 }));
    expect(south.map(({ tenantId }) => tenantId)).toEqual(['south']);
    const mine = await asTenant('south', () => newConversation(limited, { tenantId: 'south' }));
    await limited.messages.put(mine, 'msg_1', 'Ahoy.');
    expect(await asTenant('south', () => limited.messages.get(mine, 'msg_1'))).toBe('Ahoy.');
  } finally {
    await limited[Symbol.asyncDispose]();
    await admin.query(`drop owned by ${user} cascade; drop role ${user}`);
    await admin.end();
  }
}, 60_000);
