import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { Store } from '../../src/store/store.ts';
import { deferred } from '../../src/common/deferred.ts';
import { startReaper } from '../../src/worker/start-reaper.ts';
import { silent } from '../store/support.ts';

const MINUTE_MS = 60_000;
beforeEach(() => void import.meta.jest.useFakeTimers());
afterEach(() => void import.meta.jest.useRealTimers());

/** Finds nothing to do, whatever is asked. */
const empty = { listExpired: async () => [], begun: async () => [], claim: async () => [], sweep: async () => 0, sweepAfter: async () => ({ removed: 0 }) };
const store = new Proxy({}, { get: () => empty }) as Store;

test('rounds that came due while one took longer than the interval are not made up for', async () => {
  const timers = import.meta.jest;
  const slow = deferred<void>();
  let rounds = 0;
  const reaper = startReaper({
    store,
    sandboxes: { reap: async () => ({}) } as unknown as Sandboxes,
    log: silent,
    config: {},
    workflows: { getHandle: () => undefined as never },
    async reapConversations() {
      rounds += 1;
      if (rounds === 1) await slow.promise;
      return [];
    },
    endSenders: async () => undefined,
  });
  await timers.advanceTimersByTimeAsync(60 * MINUTE_MS);
  slow.resolve();
  await timers.advanceTimersByTimeAsync(MINUTE_MS);
  expect(rounds).toBe(1);
  await timers.advanceTimersByTimeAsync(5 * MINUTE_MS);
  expect(rounds).toBe(2);
  await reaper.stop();
  expect(rounds).toBe(2);
});
