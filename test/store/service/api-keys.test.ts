import type { Store } from '../../../src/store/store.ts';
import { BY, newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

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
