import { failure } from '../../../../src/contracts/errors.ts';
import { isWaiting, keptRounds } from '../../../../src/plugins/dialects/mcp/kept-rounds.ts';
import { memoryStore } from './memory-store.ts';

test('a round whose answers are there is forgotten before the request is sent again, also when Postgres is away for a moment', async () => {
  const kept = memoryStore();
  let failures = 1;
  const store = {
    ...kept,
    delete: async (key: string) => {
      failures -= 1;
      if (failures >= 0) throw failure('POSTGRES_UNAVAILABLE', { problem: 'it restarts' });
      return kept.delete(key);
    },
  };
  const rounds = keptRounds('desk', { callId: 'call_1', store, logger: console, signal: new AbortController().signal });
  await rounds.keep({ method: 'tools/call', params: {} }, { asks: {}, before: 0, asked: 0 });
  expect(await isWaiting(kept, 'call_1')).toBe(true);
  await rounds.forget();
  expect(await isWaiting(kept, 'call_1')).toBe(false);
});
