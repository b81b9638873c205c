import type { Store } from '../../../src/store/store.ts';
import { atOnce } from './at-once.ts';
import { BY, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const DAY_MS = 86_400_000;

test.each([undefined, 90 * DAY_MS])('a key that is rotated again, since the answer was lost, lives as long as it was made for (%s ms)', async (ttlMs) => {
  const secretSha256 = Buffer.alloc(32, 1);
  const [keyId, lost, next, later] = [newId('hook'), newId('hook'), newId('hook'), newId('hook')];
  await store.apiKeys.create({ keyId, name: 'billing', scopes: ['conversations:read'], secretSha256, ...(ttlMs !== undefined && { ttlMs }) }, BY);
  const rotate = (from: string, to: string) => store.apiKeys.rotate(from, { keyId: to, secretSha256, overlapMs: DAY_MS }, BY);
  const lifetimeOf = ({ createdAt, expiresAt }: { createdAt: string; expiresAt?: string } = { createdAt: '' }) =>
    expiresAt === undefined ? undefined : Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / DAY_MS) * DAY_MS;
  expect(lifetimeOf(await rotate(keyId, lost))).toBe(ttlMs);
  expect(lifetimeOf(await rotate(keyId, next))).toBe(ttlMs);
  expect(lifetimeOf(await rotate(next, later))).toBe(ttlMs);
  // Also of one in whose place several were made.
  expect(lifetimeOf(await rotate(keyId, newId('hook')))).toBe(ttlMs);
});

test('of a key that is rotated several times at once, each new one lives as long as it was made for', async () => {
  const secretSha256 = Buffer.alloc(32, 1);
  const keyId = newId('hook');
  await store.apiKeys.create({ keyId, name: 'billing', scopes: ['conversations:read'], secretSha256 }, BY);
  const rotate = () => store.apiKeys.rotate(keyId, { keyId: newId('hook'), secretSha256, overlapMs: DAY_MS }, BY);
  const made = await atOnce(url, [rotate, rotate, rotate, rotate]);
  expect(made.map((key) => [key !== undefined, key?.expiresAt])).toEqual(made.map(() => [true, undefined]));
});
