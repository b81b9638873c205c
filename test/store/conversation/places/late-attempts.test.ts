import { array, assert, asyncProperty, boolean, nat, record } from 'fast-check';
import type { Store } from '../../../../src/store/store.ts';
import { useTestStore } from '../../support.ts';
import { type Asking, endAll, HELD, nameOf, namesOf, turnOf } from './turns.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));
/** No test sees the places of another one. */
afterEach(() => endAll(store));

const LIMITS = { tenant: 1 };
const newTurn = (tenantId: string, more?: Partial<Asking>) => turnOf(store, tenantId, more);
const by = (number: number, run = 'run') => ({ by: { run, number } });
const ask = (turn: Asking, number: number, run?: string) => store.turnPlaces.ask({ ...turn, ...by(number, run) }, LIMITS);
const rest = (turn: Asking, number: number, run?: string) => store.turnPlaces.leave({ ...turn, ...by(number, run) }, 'rests', LIMITS);

/** Whether this turn of the tenant, if any, has its only place. */
async function isTaken(tenantId: string): Promise<boolean> {
  const probe = await newTurn(tenantId);
  const { place } = await store.turnPlaces.ask(probe, LIMITS);
  await store.turnPlaces.leave(probe, 'ends', LIMITS);
  return place.outcome === 'waits';
}

test('a question that comes after the turn has given its place back gets none, and neither does one that comes after a rest that was the first to come', async () => {
  const turn = await newTurn('late');
  expect(await ask(turn, 1)).toEqual(HELD);
  await rest(turn, 2);
  expect(await ask(turn, 1)).toMatchObject({ place: { outcome: 'waits', waits: { limit: 'tenant', running: 0, allowed: 1 } }, others: [] });
  expect(await isTaken('late')).toBe(false);
  expect(await ask(turn, 3)).toEqual(HELD);
  await store.turnPlaces.leave(turn, 'ends', LIMITS);

  const overtaken = await newTurn('late');
  await rest(overtaken, 2);
  expect(await ask(overtaken, 1)).toMatchObject({ place: { outcome: 'waits' } });
  expect(await isTaken('late')).toBe(false);
  expect(await ask(overtaken, 3)).toEqual(HELD);
});

test('a turn whose rest came first stands in the line from its first question on, with its priority', async () => {
  const [running, normal, high] = [await newTurn('line'), await newTurn('line'), await newTurn('line', { priority: 'high' })];
  await ask(running, 1);
  await rest(high, 2);
  await rest(normal, 2);
  await ask(normal, 3);
  await ask(high, 3);
  expect(namesOf(await store.turnPlaces.leave(running, 'ends', LIMITS))).toEqual([nameOf(high)]);
});

test('a rest that comes after the turn has got its place again takes it from none', async () => {
  const turn = await newTurn('again');
  await ask(turn, 1);
  await rest(turn, 2);
  await ask(turn, 3);
  expect(await rest(turn, 2)).toEqual([]);
  expect(await isTaken('again')).toBe(true);
});

test('another run of the workflow counts anew, and a worker of an earlier version does not count', async () => {
  const turn = await newTurn('runs');
  await ask(turn, 7);
  await rest(turn, 8);
  expect(await ask(turn, 1, 'next')).toEqual(HELD);
  await rest(turn, 2, 'next');
  expect(await store.turnPlaces.ask(turn, LIMITS)).toEqual(HELD);
  await store.turnPlaces.leave(turn, 'rests', LIMITS);
  expect(await isTaken('runs')).toBe(false);
});

test('a rest of a turn that can run no more leaves nothing', async () => {
  const turn = await newTurn('over');
  await store.conversations.close(turn.conversationId, {});
  expect(await rest(turn, 2)).toEqual([]);
  expect(await rest({ ...turn, conversationId: 'conv_unknown' }, 2)).toEqual([]);
  expect((await ask(turn, 3)).place).toEqual({ outcome: 'over' });
});

test('whatever earlier attempts come again, at whatever time: a turn has its place exactly when what its workflow wanted last was a place', async () => {
  let run = 0;
  const property = asyncProperty(
    array(boolean(), { minLength: 1, maxLength: 8 }),
    array(record({ after: nat(8), which: nat(8) }), { maxLength: 8 }),
    boolean(),
    async (wanted, late, isFirstLost) => {
      const tenantId = `tenant-${(run += 1)}`;
      const turn = await newTurn(tenantId);
      const send = (number: number) => (wanted[number] ? ask(turn, number) : rest(turn, number));
      for (const number of wanted.keys()) {
        // What was lost is sent later.
        if (!(isFirstLost && number === 0 && wanted.length > 1)) await send(number);
        for (const { after, which } of late) if (after === number && which <= number) await send(which);
      }
      if (isFirstLost) await send(0);
      expect(await isTaken(tenantId)).toBe(wanted.at(-1));
      await store.turnPlaces.leave(turn, 'ends', LIMITS);
    },
  );
  await assert(property, { numRuns: 100 });
}, 60_000);
