import { SCOPES } from '../../src/contracts/api-key.ts';
import { connect, type Longshore } from '../../src/client.ts';
import { readKeyText } from '../../src/client/key-text.ts';
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

test('a key is printed once, listed without its secret, and revoked', async () => {
  expect(await runLine(longshore, ['keys', 'ls'])).toEqual({ code: 0, out: 'No keys. Make one with: longshore keys create <name>\n', err: '' });
  const made = await runLine(longshore, ['keys', 'create', 'billing', '--tenant', 'acme', '--expires', '90d']);
  const [text = '', said] = made.out.split('\n');
  const key = readKeyText(text)!;
  expect(said).toBe(
    `It is shown only now. It sees tenant acme only; it may: conversations:read, conversations:write. Revoke it with: longshore keys revoke ${key.keyId}`,
  );
  const listed = await runLine(longshore, ['keys', 'ls', '--json']);
  expect(JSON.parse(listed.out)).toMatchObject([
    { keyId: key.keyId, name: 'billing', tenantId: 'acme', scopes: ['conversations:read', 'conversations:write'] },
  ]);
  const table = await runLine(longshore, ['keys', 'ls', '--tenant', 'acme']);
  expect(table.out).toMatch(new RegExp(`${key.keyId} +billing +acme +conversations:read,conversations:write +until \\d{4}-`));
  expect(listed.out + table.out).not.toContain(key.secret);
  expect((await runLine(longshore, ['keys', 'ls', '--tenant', 'other'])).out).toBe('No keys. Make one with: longshore keys create <name>\n');
  expect((await runLine(longshore, ['keys', 'revoke', key.keyId])).out).toBe(`The key ${key.keyId} (billing) is revoked.\n`);
  expect((await runLine(longshore, ['keys', 'ls'])).out).toMatch(/ revoked /);
});

test('a key is replaced by another of the same name, scopes and tenant, and works until the overlap is over', async () => {
  const old = await longshore.keys.create({ name: 'shop', scopes: ['approvals:resolve'], tenant: 'acme', expiresIn: '90d' });
  const { out, code } = await runLine(longshore, ['keys', 'rotate', old.keyId, '--overlap', '2h']);
  const made = readKeyText(out.split('\n')[0] ?? '')!;
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/\nIt is shown only now\. It sees tenant acme only; it may: approvals:resolve\. The old key \w{12} ends at \d{4}-.*Z\.\n$/),
  ]);
  const [before, after] = (await longshore.keys.list('acme')).filter(({ name }) => name === 'shop');
  expect([before?.keyId, after?.keyId, after?.scopes]).toEqual([old.keyId, made.keyId, ['approvals:resolve']]);
  const hours = (at: string | undefined) => Math.round((Date.parse(at ?? '') - Date.now()) / 3_600_000);
  expect([hours(before?.expiresAt), hours(after?.expiresAt)]).toEqual([2, 90 * 24]);
  const { entries } = await longshore.audit.list({ target: old.keyId, action: 'key.rotate' });
  expect(entries).toMatchObject([{ tenantId: 'acme', details: { name: 'shop', newKeyId: made.keyId } }]);
  // The overlap never makes a key live longer, and 0 ends it at once.
  await longshore.keys.rotate(old.keyId, { overlap: '30d' });
  expect(hours((await longshore.keys.list('acme')).find(({ keyId }) => keyId === old.keyId)?.expiresAt)).toBe(2);
  await longshore.keys.rotate(made.keyId, { overlap: 0 });
  for (const gone of [made.keyId, 'nothing']) await expect(longshore.keys.rotate(gone)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
  await expect(longshore.keys.rotate(old.keyId, { tenant: 'other' })).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
  expect((await runLine(longshore, ['keys', 'rotate', old.keyId, '--overlap', 'soon'])).err).toContain('overlap');
});

test('what cannot be made or found says what to do', async () => {
  expect(await runLine(longshore, ['keys', 'revoke', 'nothing'])).toMatchObject({ code: 1, err: 'No key "nothing". List them with: longshore keys ls\n' });
  const scope = await runLine(longshore, ['keys', 'create', 'a', '--scope', 'all']);
  expect([scope.code, scope.err]).toEqual([2, expect.stringContaining(`Use ${SCOPES.join(', ')}.`)]);
  const expires = await runLine(longshore, ['keys', 'create', 'a', '--expires', 'soon']);
  expect([expires.code, expires.err]).toEqual([2, expect.stringContaining('"soon"')]);
});

test('a key that has expired or was revoked cannot be found by the service, and an old secret is not in the database', async () => {
  for (const expiresIn of [0, -1, 5.8e256, '36526d', 'soon'])
    await expect(longshore.keys.create({ name: 'odd', scopes: ['admin'], expiresIn })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const { text } = await longshore.keys.create({ name: 'short', scopes: ['admin'], expiresIn: 1 });
  const [expired] = (await longshore.keys.list()).filter(({ name }) => name === 'short');
  expect(Date.parse(expired!.expiresAt ?? '')).toBeGreaterThanOrEqual(Date.parse(expired!.createdAt));
  expect((await runLine(longshore, ['keys', 'ls'])).out).toMatch(/short .* expired /);
  expect(readKeyText(text)).toMatchObject({ keyId: expired!.keyId });
});

test('a text is a key only with its own checksum', async () => {
  const { text } = await longshore.keys.create({ name: 'whole', scopes: ['admin'] });
  expect(readKeyText(text)).toBeDefined();
  for (let at = 4; at < text.length; at += 1) {
    const other = text[at] === 'a' ? 'b' : 'a';
    expect(readKeyText(text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
  }
  for (const odd of ['', 'lsk_', `${text} `, ` ${text}`, `${text}\n`, text.toLowerCase(), text.slice(0, -1)]) expect(readKeyText(odd)).toBeUndefined();
});
