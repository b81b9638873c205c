import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { SignIn } from '../../../src/store/sign-ins/sign-ins.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { newConversation, newId, silent } from '../support.ts';

const KEY = `key:${randomBytes(32).toString('base64')}`;
const URL_OF_DESK = 'https://desk.example/mcp';
const NEW = { url: URL_OF_DESK, issuer: 'https://auth.example', scope: 'notes', secret: { tokens: { access_token: 'canary-access' } } };

let database: TestDatabase;
let store: Store;
let other: Store;
beforeAll(async () => {
  database = await createTestDatabase({ sandboxes: 'invented' });
  const open = () => openStore({ url: database.url, log: silent, poolSize: 2, keys: readEncryptionKeys(KEY) });
  [store, other] = [await open(), await open()];
  await store.prepareTenants();
}, 60_000);
afterAll(async () => {
  await Promise.all([store, other].map((each) => each[Symbol.asyncDispose]()));
  await database[Symbol.asyncDispose]();
});

async function sql(query: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(query)).rows;
  } finally {
    await client.end();
  }
}

const placeOf = (userId: string, tenantId = 'north') => ({ tenantId, userId, server: 'desk' });

async function waiting(userId: string, callId = newId('call'), ttlMs = 60_000): Promise<SignIn> {
  const conversationId = await newConversation(store, { userId, tenantId: 'north' });
  const named = { signInId: randomBytes(8).toString('hex'), link: `canary-link-${randomBytes(8).toString('hex')}` };
  return store.signIns.add({
    ...named,
    ...placeOf(userId),
    url: NEW.url,
    issuer: NEW.issuer,
    conversationId,
    callId,
    secret: { client: 'canary-client' },
    ttlMs,
  });
}

const way = (state: string, ttlMs = 60_000) => ({ state, browser: 'browser', verifier: 'canary-verifier', ttlMs });

test('tokens are stored encrypted for their place alone, and listed without them', async () => {
  await store.signIns.tokens.put(placeOf('ada'), NEW);
  const kept = await store.signIns.tokens.get(placeOf('ada'));
  expect(kept).toEqual({ ...NEW, version: kept!.version });
  const [row] = await sql(`select sealed from mcp_tokens where user_id = 'ada'`);
  expect(row!['sealed']).toMatch(/^sealed:1:key:/);
  // In another place, it cannot be read.
  await sql(`insert into mcp_tokens select tenant_id, 'eve', server, url, issuer, scope, sealed from mcp_tokens where user_id = 'ada'`);
  await expect(store.signIns.tokens.get(placeOf('eve'))).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' });
  await store.signIns.tokens.remove(placeOf('eve'));
  const listed = await store.signIns.tokens.list({ tenantId: 'north' });
  expect(listed).toMatchObject([{ ...placeOf('ada'), issuer: NEW.issuer, scope: 'notes' }]);
  expect(JSON.stringify(listed)).not.toContain('canary');
});

test('without a key that encrypts, nothing is stored', async () => {
  await using plain = await openStore({ url: database.url, log: silent, poolSize: 1 });
  await expect(plain.signIns.tokens.put(placeOf('bob'), NEW)).rejects.toThrow(
    'LONGSHORE_ENCRYPTION_KEYS: tokens of MCP servers are stored encrypted or not at all, and there is no key that encrypts',
  );
  expect(await plain.signIns.tokens.get(placeOf('bob'))).toBeUndefined();
});

test('of two renewals of one version, one is stored; none after a sign-out', async () => {
  await store.signIns.tokens.put(placeOf('ada'), NEW);
  const { version } = (await store.signIns.tokens.get(placeOf('ada')))!;
  const renew = (by: Store, value: string) => by.signIns.tokens.renew(placeOf('ada'), version, { scope: 'notes', secret: { value } });
  const outcomes = await Promise.all([renew(store, 'one'), renew(other, 'two')]);
  expect(outcomes.filter(Boolean)).toHaveLength(1);
  expect((await store.signIns.tokens.get(placeOf('ada')))!.secret).toEqual({ value: outcomes[0] ? 'one' : 'two' });
  expect(await store.signIns.tokens.remove(placeOf('ada'), version)).toBe(false);
  expect(await store.signIns.tokens.remove(placeOf('ada'))).toBe(true);
  expect(await renew(store, 'three')).toBe(false);
  expect(await store.signIns.tokens.get(placeOf('ada'))).toBeUndefined();
});

test('work for one place is done by one process at a time', async () => {
  let running = 0;
  const work = async () => {
    running += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running -= 1;
  };
  await Promise.all([store, other, store].map((each) => each.signIns.tokens.inTurn(placeOf('ada'), work)));
});

test('renewals that wait for servers of others leave the locks of sandboxes alone', async () => {
  let answer: () => void = () => undefined;
  const answers = new Promise<void>((done) => (answer = done));
  let begun = 0;
  let isSecond: () => void = () => undefined;
  const second = new Promise<void>((reached) => (isSecond = reached));
  const waiting = ['a', 'b', 'c', 'd', 'e', 'f'].map((userId) =>
    store.signIns.tokens.inTurn(placeOf(userId), async () => {
      begun += 1;
      if (begun === 2) isSecond();
      await answers;
    }),
  );
  await second;
  expect(await store.sandboxes.hold(newId('sbx'), 'alone', async () => 'held')).toBe('held');
  expect(begun).toBe(2);
  answer();
  await Promise.all(waiting);
  expect(begun).toBe(6);
});

test('a state is good once, in time, and with its browser; the verifier is stored encrypted', async () => {
  const { signInId } = await waiting('ada');
  await store.signIns.setOut(signInId, way('state-1'));
  expect(JSON.stringify(await sql('select * from mcp_sign_ins'))).not.toMatch(/canary|state-1/);
  expect(await store.signIns.comeBack('state-1', 'another')).toBeUndefined();
  expect(await store.signIns.comeBack('state-1', 'browser')).toBeUndefined();
  await store.signIns.setOut(signInId, way('state-2', -1));
  expect(await store.signIns.comeBack('state-2', 'browser')).toBeUndefined();
  await store.signIns.setOut(signInId, way('state-3'));
  const all = await Promise.all([store, other, store].map((each) => each.signIns.comeBack('state-3', 'browser')));
  await store.signIns.setOut(signInId, { ...way('state-4'), client: { client_id: 'later', client_secret: 'canary-later' } });
  expect(JSON.stringify(await sql('select * from mcp_sign_ins'))).not.toContain('canary-later');
  expect(await store.signIns.comeBack('state-4', 'browser')).toMatchObject({ client: { client_id: 'later', client_secret: 'canary-later' } });
  expect(all.filter(Boolean)).toMatchObject([{ signIn: { signInId, secret: { client: 'canary-client' } }, verifier: 'canary-verifier' }]);
});

test('a link works until its sign-in has ended; one sign-in ends all that wait for the same', async () => {
  const [one, two, foreign] = [await waiting('ada'), await waiting('ada'), await waiting('bob')];
  expect(await store.signIns.byLink(one.link)).toEqual(one);
  expect(await store.signIns.byLink('another')).toBeUndefined();
  const ended = await store.signIns.finish({ ...placeOf('ada'), url: NEW.url });
  expect(ended.map(({ signInId }) => signInId)).toEqual(expect.arrayContaining([one.signInId, two.signInId]));
  expect(await store.signIns.byLink(one.link)).toBeUndefined();
  expect([await store.signIns.isDone(two.signInId), await store.signIns.isDone(foreign.signInId)]).toEqual([true, false]);
  await store.signIns.resume(two.signInId);
  expect(await store.signIns.ofCall(two.callId)).toMatchObject({ signInId: two.signInId, isDone: true, isResumed: true });
  await store.signIns.end(foreign.signInId);
  expect(await store.signIns.byLink(foreign.link)).toBeUndefined();
  expect(await store.signIns.byLink((await waiting('ada', newId('call'), -1)).link)).toBeUndefined();
});

test('a tenant sees and changes nothing of another one', async () => {
  await store.signIns.tokens.put(placeOf('ada'), NEW);
  const open = await waiting('ada');
  await asTenant('south', async () => {
    expect(await store.signIns.tokens.list({})).toEqual([]);
    expect(await store.signIns.tokens.get(placeOf('ada'))).toBeUndefined();
    expect(await store.signIns.byLink(open.link)).toBeUndefined();
    expect(await store.signIns.finish({ ...placeOf('ada'), url: NEW.url })).toEqual([]);
    await expect(store.signIns.tokens.put(placeOf('ada'), NEW)).rejects.toThrow('row-level security');
  });
  expect(await asTenant('north', () => store.signIns.tokens.list({ userId: 'ada' }))).toHaveLength(1);
});

test('the erasure of a user removes the tokens and what waits; retention removes tokens with the last conversation of their user', async () => {
  await sql('truncate mcp_tokens, mcp_sign_ins');
  for (const user of ['ada', 'cleo']) await store.signIns.tokens.put(placeOf(user), NEW);
  await store.signIns.tokens.put(placeOf('ada', 'south'), NEW);
  await waiting('ada');
  await store.removal.removeUserEntries('north', 'ada');
  expect((await store.signIns.tokens.list({})).map(({ tenantId, userId }) => `${tenantId} ${userId}`)).toEqual(['north cleo', 'south ada']);
  expect(await sql('select 1 from mcp_sign_ins')).toEqual([]);
  const [first, last] = [await newConversation(store, { userId: 'cleo', tenantId: 'north' }), (await waiting('cleo')).conversationId];
  for (const [id, left] of [
    [first, ['north cleo', 'south ada']],
    [last, ['south ada']],
  ] as const) {
    await store.conversations.close(id, {});
    await store.removal.begin(id);
    expect(await store.removal.finish(id)).toBe(true);
    expect((await store.signIns.tokens.list({})).map(({ tenantId, userId }) => `${tenantId} ${userId}`)).toEqual(left);
  }
  expect(await sql('select 1 from mcp_sign_ins')).toEqual([]);
});

test('tokens of a user without any conversation are removed: of two that went at the same moment, each saw the other', async () => {
  await sql('truncate mcp_tokens, mcp_sign_ins');
  await newConversation(store, { userId: 'dora', tenantId: 'north' });
  for (const tenant of ['north', 'south']) await store.signIns.tokens.put(placeOf('dora', tenant), NEW);
  await store.removal.sweep();
  expect((await store.signIns.tokens.list({})).map(({ tenantId, userId }) => `${tenantId} ${userId}`)).toEqual(['north dora']);
});
