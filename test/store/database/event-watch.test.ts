import { createEventWatch } from '../../../src/store/database/event-watch.ts';
import { followTopic } from '../../../src/store/database/follow-topic.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { Database } from '../../../src/store/database/database.ts';
import type { Listener } from '../../../src/store/database/listener.ts';
import { until } from '../../e2e/support.ts';

/** Conversations with the number of their newest event; announcements are lost. */
function lossy() {
  const newest = new Map<string, number>();
  const asked: string[][] = [];
  const wakers = new Map<string, Set<() => void>>();
  let away = false;
  let refused = 0;
  const database = {
    async query(_name: string, _sql: string, [ids]: [string[]]) {
      if (away) refused += 1;
      if (away) throw failure('POSTGRES_UNAVAILABLE', { problem: 'away' });
      asked.push(ids);
      return ids.flatMap((id) => (newest.has(id) ? [{ conversation_id: id, event_seq: newest.get(id) }] : []));
    },
  } as unknown as Database;
  const listener = {
    closed: false,
    subscribe(id: string, wake: () => void) {
      wakers.set(id, (wakers.get(id) ?? new Set()).add(wake));
      return () => wakers.get(id)?.delete(wake);
    },
  } as unknown as Listener;
  const subscribed = () => [...wakers.values()].reduce((sum, { size }) => sum + size, 0);
  return {
    newest,
    asked,
    subscribed,
    watch: createEventWatch({ database, listener, pollMs: 200 }),
    setAway: (now: boolean) => (away = now),
    refused: () => refused,
  };
}

test('a follower is told of an event whose announcement was lost; all followers together cost one query, and none when there are no followers', async () => {
  const { newest, asked, subscribed, watch } = lossy();
  const ids = Array.from({ length: 50 }, (_, index) => `conv_${index}`);
  for (const id of ids) newest.set(id, 1);
  const looks = new Map<string, number>();
  const stop = new AbortController();
  const following = [...ids, ...ids].map(async (id) => {
    for await (const _ of followTopic(watch, id, { signal: stop.signal })) looks.set(id, (looks.get(id) ?? 0) + 1);
  });
  await until(async () => asked.length >= 2, 'the second count');
  const before = new Map(looks);
  const counted = asked.length;
  newest.set('conv_7', 2);
  await until(async () => asked.length >= counted + 2, 'two counts after it');
  // Each of the two followers of this conversation looks once more, and no other.
  expect(new Map([...looks].filter(([id, count]) => count !== before.get(id)))).toEqual(new Map([['conv_7', (before.get('conv_7') ?? 0) + 2]]));
  expect(asked.every((each) => each.length === ids.length)).toBe(true);
  stop.abort();
  await Promise.all(following);
  expect(subscribed()).toBe(0);
}, 60_000);

test('a count that fails is made up for by the next', async () => {
  const { newest, asked, watch, setAway, refused } = lossy();
  newest.set('conv_1', 1);
  const stop = new AbortController();
  let looks = 0;
  const following = (async () => {
    for await (const _ of followTopic(watch, 'conv_1', { signal: stop.signal })) looks += 1;
  })();
  await until(async () => asked.length >= 1 && looks === 2, 'the first count');
  setAway(true);
  newest.set('conv_1', 2);
  await until(async () => refused() >= 1, 'a count fails');
  setAway(false);
  await until(async () => looks === 3, 'it looks again');
  stop.abort();
  await following;
}, 60_000);
