import { deferred } from '../../src/common/deferred.ts';
import { startRounds } from '../../src/platform/start-rounds.ts';

test('rounds do not overlap, go on after a failure, and a stop waits for the one in progress', async () => {
  const begun: ReturnType<typeof deferred<void>>[] = [];
  const failures: unknown[] = [];
  const reached = deferred<void>();
  let running = 0;
  const rounds = startRounds({
    everyMs: 1,
    async work() {
      running += 1;
      expect(running).toBe(1);
      const round = deferred<void>();
      begun.push(round);
      if (begun.length === 3) reached.resolve();
      // The first ones last for several intervals, and fail.
      if (begun.length < 3) setTimeout(round.resolve, 20);
      await round.promise;
      running -= 1;
      if (begun.length < 3) throw new Error(`round ${begun.length}`);
    },
    onFailure: (error) => void failures.push(error),
  });
  await reached.promise;
  expect(failures).toEqual([new Error('round 1'), new Error('round 2')]);
  let isStopped = false;
  const stopping = rounds.stop().then(() => (isStopped = true));
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  begun[2]?.resolve();
  await stopping;
  expect(begun).toHaveLength(3);
});
