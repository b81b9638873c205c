import { Client } from 'pg';
import type { AuditEntry } from '../../src/contracts/audit.ts';
import type { Store } from '../../src/store/store.ts';
import { BY, newConversation, newId, useTestStore } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const rowsOf = (target: string): Promise<AuditEntry[]> => store.audit.list({ target, limit: 10 });
const newKey = { name: 'billing', scopes: ['conversations:read' as const], secretSha256: Buffer.alloc(32) };

test('no statement changes or removes a row, whichever row it names and whichever role owns the table', async () => {
  await store.audit.add({ ...BY, action: 'conversation.close', target: 'kept' });
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of [
      "update audit_log set actor_id = 'somebody'",
      'delete from audit_log',
      'delete from audit_log where false',
      'truncate audit_log',
      'set session_replication_role = replica; delete from audit_log',
    ]) {
      await expect(client.query(statement)).rejects.toThrow(/^audit_log is append-only: (update|delete|truncate) is refused$/);
    }
  } finally {
    await client.end();
  }
  expect(await rowsOf('kept')).toMatchObject([{ actor: BY.actor, action: 'conversation.close', details: {} }]);
});

test('keys that are made and revoked have a row each, with who and from which request; a revocation that finds no key has none', async () => {
  const keyId = newId('evt');
  await store.apiKeys.create({ ...newKey, keyId, tenantId: 'north', ttlMs: 60_000 }, BY);
  expect(await store.apiKeys.revoke(keyId, BY, 'south')).toBeUndefined();
  await store.apiKeys.revoke(keyId, { actor: { kind: 'key', id: 'other' }, requestId: 'request-1' });
  const rows = await rowsOf(keyId);
  expect(rows).toMatchObject([
    { action: 'key.revoke', tenantId: 'north', actor: { kind: 'key', id: 'other' }, requestId: 'request-1' },
    { action: 'key.create', tenantId: 'north', actor: BY.actor, details: { name: 'billing', scopes: ['conversations:read'] } },
  ]);
  expect(rows[1]).not.toHaveProperty('requestId');
});

test('a change that is refused by Postgres leaves no row', async () => {
  const keyId = newId('evt');
  await store.apiKeys.create({ ...newKey, keyId }, BY);
  await expect(store.apiKeys.create({ ...newKey, keyId }, BY)).rejects.toThrow();
  expect(await rowsOf(keyId)).toHaveLength(1);
});

test('what is granted to a plugin is noted once, with the values that are new, and so are its other settings', async () => {
  const id = newId('evt');
  await store.plugins.grant(id, { network: ['a.example'], time: true }, BY);
  await store.plugins.grant(id, { network: ['a.example'], time: true }, BY);
  await store.plugins.grant(id, { network: ['b.example'], time: true }, BY);
  await store.plugins.revoke(id, { network: ['a.example'] }, BY);
  await store.plugins.configure(id, { secret: 'of the plugin' }, BY);
  expect(await store.plugins.configure(id, {}, BY, 7)).toBeUndefined();
  await store.plugins.enable(id, false, BY);
  await store.plugins.enable(id, true, BY);
  expect((await rowsOf(id)).map(({ action, details }) => [action, details])).toEqual([
    ['plugin.enable', { configVersion: 1 }],
    ['plugin.disable', { configVersion: 1 }],
    ['plugin.configure', { configVersion: 1 }],
    ['plugin.revoke', { permissions: [['network', 'a.example']] }],
    ['plugin.grant', { permissions: [['network', 'b.example']] }],
    ['plugin.grant', { permissions: [['network', 'a.example'], ['time', '']] }],
  ]); // prettier-ignore
});

test('the end of an approval is noted once for each call, also when its activity runs twice', async () => {
  const [conversationId, callId] = [await newConversation(store, { tenantId: 'north' }), newId('call')];
  for (const answer of ['allow', 'deny']) await store.audit.addResolved(conversationId, callId, { answer });
  expect(await rowsOf(callId)).toMatchObject([
    { action: 'approval.resolved', tenantId: 'north', actor: { kind: 'conversation', id: conversationId }, details: { answer: 'allow' } },
  ]);
});

test('a list is filtered by tenant, actor, action and time, and paged by the last row', async () => {
  const actor = { kind: 'login' as const, id: newId('evt') };
  for (const tenantId of ['east', 'west', 'east']) await store.audit.add({ actor, action: 'conversation.close', target: newId('conv'), tenantId });
  const all = await store.audit.list({ actorId: actor.id, limit: 10 });
  expect(all.map(({ tenantId }) => tenantId)).toEqual(['east', 'west', 'east']);
  expect(await store.audit.list({ actorId: actor.id, tenantId: 'west', limit: 10 })).toEqual([all[1]]);
  expect(await store.audit.list({ actorId: actor.id, olderThan: all[0]!.auditId, limit: 1 })).toEqual([all[1]]);
  expect(await store.audit.list({ actorId: actor.id, action: 'key.create', limit: 10 })).toEqual([]);
  expect(await store.audit.list({ actorId: actor.id, since: new Date(Date.now() + 60_000).toISOString(), limit: 10 })).toEqual([]);
});
