import { deferred } from '../../../src/common/deferred.ts';
import type { WarmPool } from '../../../src/contracts/host-facts.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createKeptPools } from '../../../src/sandbox/lifecycle/base/kept-pools.ts';
import type { DockerContext } from '../../../src/sandbox/lifecycle/base/docker-context.ts';
import { keepWarm } from '../../../src/sandbox/lifecycle/pool/keep-warm.ts';
import { FakeTime, runIn } from './fakes/fake-time.ts';
import { FakeWorld } from './fakes/fake-world.ts';
import { sleep } from './fakes/until-done.ts';

const inState = (world: FakeWorld, wanted: string) => [...world.rows.values()].filter(({ state }) => state === wanted);

test('a pool that takes longer to fill than its owner is remembered is not removed meanwhile', async () => {
  using time = new FakeTime();
  const world = new FakeWorld(() => 500);
  const run = runIn(time);
  const [keeper, other] = [world.worker().sandboxes, world.worker().sandboxes];
  const kept = keeper.keepWarm!([{ name: 'large', options: {}, size: 12 }]);
  for (let round = 1; round <= 10; round += 1) {
    await run(sleep(15_000));
    await run(other.reap());
  }
  expect({ warm: inState(world, 'warm').length, removed: inState(world, 'destroyed').length }).toEqual({ warm: 12, removed: 0 });
  await run(Promise.resolve(kept[Symbol.asyncDispose]()));
  expect(inState(world, 'warm')).toEqual([]);
  for (const one of [keeper, other]) await run(one[Symbol.asyncDispose]());
});

test('a pool whose sandboxes cannot be made keeps no other pool from being filled', async () => {
  using time = new FakeTime();
  const world = new FakeWorld(() => 1);
  world.refuses = () => world.trace.at(-1)?.includes('"image":"broken"') === true;
  const run = runIn(time);
  const { sandboxes } = world.worker();
  const kept = sandboxes.keepWarm!([
    { name: 'broken', options: { image: 'broken' }, size: 2 },
    { name: 'sound', options: { image: 'sound' }, size: 2 },
  ]);
  await run(sleep(40_000));
  expect(inState(world, 'warm').map(({ options }) => options['image'])).toEqual(['sound', 'sound']);
  await run(Promise.resolve(kept[Symbol.asyncDispose]()));
  await run(sandboxes[Symbol.asyncDispose]());
});

test('a host without gVisor keeps no sandboxes that need it', async () => {
  const owned: unknown[] = [];
  const looked = deferred<void>();
  const context = {
    hostId: 'here',
    hostLabels: [],
    installation: 'test',
    standardImage: 'standard',
    runtimes: async () => ['runc'],
    engine: { imageId: async () => 'image' },
    lease: { state: () => ({ isDraining: false, hasOthers: false }) },
    pools: createKeptPools(),
    poolRows: {
      own: async ({ size }: { size: number }) => void owned.push(size),
      leave: async () => undefined,
      unowned: async () => [],
      forget: async () => undefined,
      list: async () => [],
    },
    disk: async () => {
      looked.resolve();
      return { isShort: true };
    },
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
  };
  const wanted: WarmPool[] = [
    { name: 'fenced', options: { runtime: 'runsc' }, size: 1 },
    { name: 'plain', options: {}, size: 2 },
  ];
  const kept = keepWarm(context as unknown as DockerContext, wanted);
  await looked.promise;
  await kept[Symbol.asyncDispose]();
  expect(owned).toEqual([2]);
});
