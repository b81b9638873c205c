import * as fc from 'fast-check';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { faultPlan, Faults, NO_FAULTS, planned, type FaultPlan } from './fakes/fake-faults.ts';
import { FakeTime, runIn } from './fakes/fake-time.ts';
import { FakeWorld } from './fakes/fake-world.ts';
import { sleep, untilDone } from './fakes/until-done.ts';

/** Virtual. Then what is left is old enough for the reaper. */
const CALM_MS = 90_000;
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 40);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 8);
/** Of the whole test on a busy machine. What a run waits for has limits of its own, in virtual time. */
const TIME_LIMIT_MS = 600_000 + RUNS * 1000;

type Runtime = 'runc' | 'runsc';
type Rest = 'none' | 'freeze' | 'hibernate' | 'stop';

/** A conversation: when two workers open its sandbox, and how long after the first of them it is put to rest by the other one, and woken after that. */
interface Use {
  atMs: number;
  joinedAtMs: number;
  actor: number;
  rest: Rest;
  restAfterMs: number;
}
/** When a worker keeps the pool. */
interface Keeping {
  fromMs: number;
  forMs: number;
  size: number;
}

/** Rejects when the sandbox or its processes are lost, or an open says so. */
async function use(workers: Sandboxes[], runtime: Runtime, number: number, { atMs, joinedAtMs, actor, rest, restAfterMs }: Use): Promise<string> {
  const [mine, other] = [workers[actor]!, workers[1 - actor]!];
  const ask = <T>(what: () => Promise<T>) => untilDone(what, rest === 'stop' ? ['SANDBOX_CONFLICT', 'SANDBOX_LOST'] : ['SANDBOX_CONFLICT']);
  const open = async (sandboxes: Sandboxes) => {
    const owner = { sandboxId: `sbx_${number}`, conversationId: `conv_${number}`, tenantId: 'tenant' };
    const { handle, lost } = await ask(() => sandboxes.open(owner, { runtime }));
    if (lost !== undefined && rest !== 'stop') throw new Error(`lost: ${lost}`);
    return handle;
  };
  const join = async () => {
    await sleep(joinedAtMs);
    const handle = await open(other);
    // One that is stopped in between is lost, and is not begun again.
    if (rest !== 'stop') expect(await ask(() => handle.run('work 300', { execId: `j${number}` }))).toMatchObject({ status: 'exited' });
    return handle.sandboxId;
  };
  const work = async () => {
    await sleep(atMs);
    const handle = await open(mine);
    const { sandboxId } = handle;
    await ask(() => handle.start('work 3000', { execId: `e${number}` }));
    await sleep(restAfterMs);
    if (rest === 'freeze') await ask(() => other.freeze(sandboxId, { mode: 'pause' }));
    if (rest === 'hibernate') await ask(() => other.hibernate(sandboxId, { otherwise: 'stay' }));
    if (rest === 'stop') await ask(() => other.stop(sandboxId));
    await sleep(restAfterMs);
    const again = await open(mine);
    if (rest !== 'stop') expect(await ask(() => again.attach(`e${number}`))).toMatchObject({ status: 'exited' });
    return [sandboxId, again.sandboxId];
  };
  const [joined, worked] = await Promise.all([join(), work()]);
  expect(worked).toEqual([joined, joined]);
  return joined;
}

async function play(uses: Use[], keepings: Keeping[], latencies: number[], runtime: Runtime, faults: FaultPlan = NO_FAULTS): Promise<void> {
  using time = new FakeTime();
  let drawn = 0;
  const world = new FakeWorld(() => latencies[(drawn += 1) % latencies.length] ?? 1);
  Object.assign(world, planned(faults));
  const workers = [world.worker().sandboxes, world.worker().sandboxes];
  const run = runIn(time);
  const kept = keepings.map(async ({ fromMs, forMs, size }, number) => {
    await sleep(fromMs);
    const keeping = workers[number]!.keepWarm!([{ name: 'small', options: { runtime }, size }]);
    await sleep(forMs);
    await keeping[Symbol.asyncDispose]();
  });
  const sandboxIds = await run(Promise.all(uses.map((one, number) => use(workers, runtime, number, one))));
  expect(new Set(sandboxIds).size).toBe(uses.length);
  for (const volume of world.volumes.values()) for (const starts of volume.starts.values()) expect(starts).toBe(1);
  Object.assign(world, new Faults());
  for (const sandboxId of sandboxIds) await run(workers[0]!.destroy(sandboxId));
  await run(Promise.all(kept));
  await run(sleep(CALM_MS));
  const last = world.worker().sandboxes;
  await run(last.reap());
  for (const one of [...workers, last]) await run(one[Symbol.asyncDispose]());
  const rows = [...world.rows.values()].filter(({ state }) => state !== 'destroyed');
  const containers = [...world.containers.values()].map(({ spec }) => spec.name);
  expect({ rows, containers, volumes: [...world.volumes.keys()] }).toEqual({ rows: [], containers: [], volumes: [] });
}

const latency = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 2, arbitrary: fc.integer({ min: 20, max: 400 }) },
    { weight: 1, arbitrary: fc.constantFrom(1000, 4000, 12_000) },
  ),
  { minLength: 20, maxLength: 60 },
);
const uses = fc.array(
  fc.record({
    atMs: fc.integer({ min: 0, max: 3000 }),
    joinedAtMs: fc.integer({ min: 0, max: 5000 }),
    actor: fc.integer({ min: 0, max: 1 }),
    rest: fc.constantFrom<Rest>('none', 'freeze', 'hibernate', 'stop'),
    restAfterMs: fc.integer({ min: 0, max: 1500 }),
  }),
  { minLength: 1, maxLength: 4 },
);
const keeping = fc.record({ fromMs: fc.integer({ min: 0, max: 1000 }), forMs: fc.integer({ min: 0, max: 20_000 }), size: fc.integer({ min: 1, max: 3 }) });
const keepings = fc.tuple(keeping, keeping);
const runtimes = fc.constantFrom<Runtime>('runc', 'runsc');

test(
  'conversations get sandboxes of their own, warm or not, whose processes go on, and nothing is left of the pools',
  async () => {
    await fc.assert(
      fc.asyncProperty(uses, keepings, latency, runtimes, (...parts) => play(...parts)),
      { numRuns: RUNS, seed: SEED },
    );
  },
  TIME_LIMIT_MS,
);

test(
  'so they do at an engine that refuses some of what it is asked, and when connections to the database are lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(uses, keepings, latency, runtimes, faultPlan, (...parts) => play(...parts)),
      { numRuns: RUNS, seed: SEED },
    );
  },
  TIME_LIMIT_MS,
);
