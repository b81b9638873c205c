import { createTurns, createTurnsByKey } from '../../src/common/turns.ts';
import { deferred } from '../../src/common/deferred.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('one after the other, in the order given; a failure is its own and holds up nothing', async () => {
  const { inTurn, isFree } = createTurns();
  const began: string[] = [];
  const gate = deferred<string>();
  const first = inTurn(() => (began.push('first'), gate.promise));
  const second = inTurn(async () => {
    began.push('second');
    throw new Error('own');
  });
  const third = inTurn(async () => began.push('third'));
  await settled();
  expect(began).toEqual(['first']);
  expect(isFree()).toBe(false);
  gate.resolve('done');
  expect(await first).toBe('done');
  await expect(second).rejects.toThrow('own');
  await third;
  expect(began).toEqual(['first', 'second', 'third']);
  expect(isFree()).toBe(true);
});

test('work of one key never overlaps, however it arrives; that of another key does not wait', async () => {
  const inTurn = createTurnsByKey();
  let atWork = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++atWork);
    await Promise.resolve();
    atWork -= 1;
  };
  // Arrivals at every moment at which an earlier one ends.
  const chain = async (left: number): Promise<void> => (left === 0 ? undefined : inTurn('key', work).then(() => chain(left - 1)));
  await Promise.all([chain(20), chain(20), chain(20)]);
  expect(most).toBe(1);
  const gate = deferred<void>();
  const held = inTurn('held', () => gate.promise);
  await inTurn('free', async () => undefined);
  gate.resolve();
  await held;
});
