import { array, assert, asyncProperty, constantFrom, integer, nat, oneof, record } from 'fast-check';
import type { Store } from '../../../src/store/store.ts';
import { newCall, newConversation, newId, statusOf, useTestStore } from '../support.ts';

const LIMITS = { most: 5, levels: 3 };

let store: Store;
useTestStore((opened) => ({ store } = opened));

/** A call that runs and asks for a place. */
async function newAsking(rootId: string, depth: number) {
  const { callId, hash } = await newCall(store, rootId);
  await store.toolCalls.claim(callId, hash, []);
  return { callId, rootId, askerId: rootId, subAgentId: newId('conv'), depth };
}

async function begin(subAgentId: string) {
  const status = statusOf(subAgentId);
  await store.conversations.create({ ...status, status });
}

test('a call asks for one place, however often it asks', async () => {
  const rootId = await newConversation(store);
  const asking = await newAsking(rootId, 3);
  for (let time = 0; time < 7; time += 1) expect(await store.treePlaces.ask(asking, LIMITS)).toEqual({ has: true, others: [] });
  const more = await Promise.all(Array.from({ length: 5 }, () => newAsking(rootId, 3)));
  const answers = await Promise.all(more.map((other) => store.treePlaces.ask(other, LIMITS)));
  expect(answers.filter(({ has }) => has)).toHaveLength(4);
});

test('a call that is settled before its sub-agent has begun gives its place back', async () => {
  const rootId = await newConversation(store);
  const limits = { most: 1, levels: 1 };
  const [first, second] = [await newAsking(rootId, 1), await newAsking(rootId, 1)];
  expect(await store.treePlaces.ask(first, limits)).toEqual({ has: true, others: [] });
  expect(await store.treePlaces.ask(second, limits)).toEqual({ has: false, others: [] });
  await store.toolCalls.settle(first.callId, undefined, { state: 'interrupted', content: [], isError: true }, []);
  // Told again until it is known that the news has arrived.
  for (const _ of [1, 2]) expect(await store.treePlaces.give(rootId, limits)).toEqual([{ callId: second.callId, askerId: rootId }]);
  await store.treePlaces.told([second.callId]);
  expect(await store.treePlaces.give(rootId, limits)).toEqual([]);
});

test('in any order of begins and ends: no more than the limit at once, in order within a level, and whoever waits for the deepest level gets on', async () => {
  const action = oneof(record({ asks: integer({ min: 1, max: 3 }) }), record({ ends: nat(20) }), record({ twice: constantFrom(true) }));
  const keepsItsLimit = asyncProperty(array(action, { maxLength: 30 }), async (actions) => {
    const rootId = await newConversation(store);
    const waiting: Awaited<ReturnType<typeof newAsking>>[] = [];
    const placed: typeof waiting = [];
    const place = async (given: { callId: string }[]) => {
      for (const { callId } of given) {
        const index = waiting.findIndex((other) => other.callId === callId);
        const [one] = waiting.splice(index, 1);
        if (!one) throw new Error(`${callId} got two places`);
        expect(waiting.slice(0, index).some(({ depth }) => depth >= one.depth)).toBe(false);
        placed.push(one);
        await begin(one.subAgentId);
        await store.treePlaces.told([callId]);
      }
    };
    for (const step of actions) {
      if ('asks' in step) {
        const asking = await newAsking(rootId, step.asks);
        waiting.push(asking);
        const { has, others } = await store.treePlaces.ask(asking, LIMITS);
        await place([...others, ...(has ? [asking] : [])]);
      } else if ('twice' in step) {
        const [given = []] = await Promise.all([1, 2].map(() => store.treePlaces.give(rootId, LIMITS)));
        await place(given);
      } else if (placed.length > 0) {
        const [ended] = placed.splice(step.ends % placed.length, 1);
        await store.conversations.close(ended?.subAgentId ?? '', { by: 'reaper', workflow: 'absent' });
        await place(await store.treePlaces.give(rootId, LIMITS));
      }
      expect(placed.length).toBeLessThanOrEqual(LIMITS.most);
      const at = (depth: number) => placed.filter((one) => one.depth <= depth).length;
      expect([at(1) <= 3, at(2) <= 4]).toEqual([true, true]);
      if (waiting.some(({ depth }) => depth === 3)) expect(placed.some(({ depth }) => depth === 3)).toBe(true);
      if (placed.length === 0) expect(waiting).toEqual([]);
    }
  });
  await assert(keepsItsLimit, { numRuns: 25 });
}, 180_000);
