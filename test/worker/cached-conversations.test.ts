import { loadConfig } from '../../src/platform/config.ts';
import { cachedConversations } from '../../src/worker/cached-conversations.ts';

const GIB = 2 ** 30;

test.each([
  [GIB / 4, 50],
  [GIB / 2, 56],
  [GIB, 312],
  [2 * GIB, 824],
  [4 * GIB, 1000],
  [256 * GIB, 1000],
])('a worker with %d bytes of memory keeps %d conversations in it', (bytes, conversations) => {
  expect(cachedConversations(bytes)).toBe(conversations);
});

test('a worker without a setting keeps as many as its process has memory for', () => {
  expect(cachedConversations()).toBeGreaterThanOrEqual(50);
  expect(cachedConversations()).toBeLessThanOrEqual(1000);
  expect(loadConfig({}).LONGSHORE_CACHED_CONVERSATIONS).toBeUndefined();
  expect(loadConfig({ LONGSHORE_CACHED_CONVERSATIONS: '200' }).LONGSHORE_CACHED_CONVERSATIONS).toBe(200);
});

test.each(['0', '1', '-5', '1.5', 'many', '100001'])('LONGSHORE_CACHED_CONVERSATIONS=%s is refused', (value) => {
  expect(() => loadConfig({ LONGSHORE_CACHED_CONVERSATIONS: value })).toThrow(`LONGSHORE_CACHED_CONVERSATIONS: "${value}" is not usable`);
});
