import * as fc from 'fast-check';
import { isFailure } from '../../../src/contracts/errors.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { FakeDatabase } from './fakes/fake-database.ts';
import { faultPlan, Faults, NO_FAULTS, planned, type FaultPlan } from './fakes/fake-faults.ts';
import { FakeTime, runIn } from './fakes/fake-time.ts';
import { FakeWorld } from './fakes/fake-world.ts';
import { sleep, untilDone } from './fakes/until-done.ts';

const SOURCE = 'sbx_source';
const TENANT = { tenantId: 'tenant' };
/** Virtual. What was put to rest is woken then: work waits for that. */
const RESUMES_MS = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000];
/** Virtual, and as often as it takes for the reaper to remove copies that have no owner. */
const CALM_MS = 700_000;
const CALMS = 6;
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 40);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 8);
/** Of the whole test on a busy machine. What a run waits for has limits of its own, in virtual time. */
const TIME_LIMIT_MS = 600_000 + RUNS * 1000;

const VERBS = ['work', 'work', 'snapshot', 'named', 'fork', 'copy', 'freeze', 'wake', 'hibernate', 'stop', 'archive'] as const;
interface Step {
  verb: (typeof VERBS)[number];
  actor: number;
  atMs: number;
}
type Runtime = 'runc' | 'runsc';

const ask = <T>(what: () => Promise<T>) => untilDone(what, ['SANDBOX_CONFLICT', 'SANDBOX_LOST']);

/** Which commands had ended before a copy was begun, and which had been begun before it was made. Each makes a file. */
interface Between {
  least: string[];
  most: string[];
}

class Play {
  readonly #world: FakeWorld;
  readonly #runtime: Runtime;
  readonly workers: Sandboxes[];
  readonly #begun: string[] = [];
  readonly #ended: string[] = [];
  /** Sandboxes that were copied, and what they have to have. */
  readonly copies = new Map<string, Between>();
  readonly snapshots = new Map<string, Between>();

  constructor(world: FakeWorld, runtime: Runtime) {
    this.#world = world;
    this.#runtime = runtime;
    this.workers = [world.worker().sandboxes, world.worker().sandboxes];
  }

  async open(sandboxes: Sandboxes, sandboxId = SOURCE) {
    return (await ask(() => sandboxes.open({ sandboxId, ...TENANT }, { runtime: this.#runtime }))).handle;
  }

  async step({ verb, actor, atMs }: Step, number: number): Promise<void> {
    await sleep(atMs);
    const sandboxes = this.workers[actor]!;
    if (verb === 'work') return this.#work(sandboxes, `e${number}`);
    if (verb === 'freeze' || verb === 'wake' || verb === 'stop') return void (await ask(() => sandboxes[verb](SOURCE)));
    if (verb === 'hibernate') return void (await ask(() => sandboxes.hibernate(SOURCE, { otherwise: 'stay' })));
    if (verb === 'archive') return void (await ask(() => sandboxes.archive(SOURCE, { otherwise: 'stop' })));
    if (verb === 'fork') return this.#copy(this.copies, () => ask(() => sandboxes.fork(SOURCE, 2)));
    if (verb === 'copy') {
      const sandboxId = `sbx_copy_${number}`;
      return this.#copy(this.copies, async () => {
        await ask(() => sandboxes.copyTo(SOURCE, { owner: { sandboxId, ...TENANT } }));
        return [sandboxId];
      });
    }
    const name = verb === 'named' ? { name: `name ${number}` } : {};
    return this.#copy(this.snapshots, async () => [(await ask(() => sandboxes.snapshot(SOURCE, name))).snapshotId]);
  }

  async #work(sandboxes: Sandboxes, execId: string): Promise<void> {
    this.#begun.push(execId);
    const running = ask(async () => {
      const handle = await this.open(sandboxes);
      // One that a stop has ended is not begun again.
      return handle.run('work 200', { execId }).catch((error: unknown) => (isFailure(error, 'SANDBOX_LOST') ? { status: 'lost' } : Promise.reject(error)));
    });
    if ((await running).status === 'exited') this.#ended.push(execId);
  }

  async #copy(made: Map<string, Between>, make: () => Promise<string[]>): Promise<void> {
    const least = [...this.#ended];
    const ids = await make();
    const most = [...this.#begun];
    for (const id of ids) made.set(id, { least, most });
  }

  filesOf(sandboxId: string): string[] {
    return [...(this.#world.volumes.get(this.#world.rows.get(sandboxId)!.volumeName)?.files.names ?? [])];
  }
}

function expectBetween(files: string[], { least, most }: Between): void {
  expect(files).toEqual(expect.arrayContaining(least));
  expect(most).toEqual(expect.arrayContaining(files));
}

async function play(steps: Step[], latencies: number[], runtime: Runtime, faults: FaultPlan = NO_FAULTS): Promise<void> {
  using time = new FakeTime();
  let drawn = 0;
  const database = new FakeDatabase();
  database.areBlobsOld = true;
  const world = new FakeWorld(() => latencies[(drawn += 1) % latencies.length] ?? 1, { database });
  const run = runIn(time);
  const played = new Play(world, runtime);
  const [first] = played.workers;
  await run(played.open(first!));
  Object.assign(world, planned(faults));
  for (const afterMs of RESUMES_MS) setTimeout(() => void first!.wake(SOURCE).catch(() => undefined), afterMs);
  await run(Promise.all(steps.map((step, number) => played.step(step, number))));
  Object.assign(world, new Faults());
  for (const [snapshotId, between] of played.snapshots) {
    const sandboxId = `sbx_of_${snapshotId}`;
    await run(first!.restore(snapshotId, { sandboxId, ...TENANT }));
    played.copies.set(sandboxId, between);
  }
  for (const [sandboxId, between] of played.copies) {
    await run(played.open(first!, sandboxId));
    expectBetween(played.filesOf(sandboxId), between);
  }
  for (const sandboxId of [SOURCE, ...played.copies.keys()]) await run(first!.destroy(sandboxId));
  for (const snapshotId of played.snapshots.keys()) await run(first!.removeSnapshot(snapshotId));
  for (let count = 0; count < CALMS; count += 1) {
    await run(world.worker().sandboxes.reap());
    await run(sleep(CALM_MS));
  }
  const last = world.worker().sandboxes;
  await run(last.reap());
  for (const one of [...played.workers, last]) await run(one[Symbol.asyncDispose]());
  const left = {
    rows: [...world.rows.values()].filter(({ state }) => state !== 'destroyed'),
    containers: [...world.containers.values()].map(({ spec }) => spec.name),
    volumes: [...world.volumes.keys()],
    snapshots: [...database.snapshots.all.keys()],
    blobs: database.blobIds(),
  };
  expect(left).toEqual({ rows: [], containers: [], volumes: [], snapshots: [], blobs: [] });
}

const latency = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 2, arbitrary: fc.integer({ min: 20, max: 400 }) },
    { weight: 1, arbitrary: fc.constantFrom(1000, 4000) },
  ),
  { minLength: 20, maxLength: 60 },
);
const steps = fc.array(
  fc.record({
    verb: fc.constantFrom(...VERBS),
    actor: fc.integer({ min: 0, max: 1 }),
    atMs: fc.integer({ min: 0, max: 3000 }),
  }),
  { minLength: 2, maxLength: 8 },
);
const runtimes = fc.constantFrom<Runtime>('runc', 'runsc');

/** A worker whose checkpoint is slow writes it after another one has woken the sandbox, and frozen it for a copy. */
const SLOW_CHECKPOINT: [Step[], number[], Runtime] = [
  [
    { verb: 'hibernate', actor: 0, atMs: 547 },
    { verb: 'copy', actor: 1, atMs: 42 },
    { verb: 'work', actor: 0, atMs: 1356 },
    { verb: 'work', actor: 0, atMs: 642 },
    { verb: 'freeze', actor: 0, atMs: 2361 },
    { verb: 'hibernate', actor: 0, atMs: 1705 },
    { verb: 'archive', actor: 1, atMs: 2965 },
  ],
  [
    7, 7, 6, 6, 5, 4000, 5, 3, 7, 1000, 142, 129, 1, 3, 8, 210, 8, 1, 4, 8, 3, 2, 5, 1, 4, 8, 3, 1000, 3, 6, 7, 6, 8, 7, 5, 7, 1, 4, 258, 1000, 7, 8, 3, 6, 281,
    2, 5,
  ],
  'runsc',
];

test(
  'copies that are made while their sandbox is used, put to rest and woken have its files of one moment, and nothing is left of them',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, latency, runtimes, (...parts) => play(...parts)),
      { numRuns: RUNS, seed: SEED, examples: [SLOW_CHECKPOINT] },
    );
  },
  TIME_LIMIT_MS,
);

/** A worker whose wake is slow finds the checkpoint that another one has made since. */
const SLOW_WAKE: [Step[], number[], Runtime, FaultPlan] = [
  [
    { verb: 'named', actor: 0, atMs: 2015 },
    { verb: 'hibernate', actor: 1, atMs: 256 },
    { verb: 'fork', actor: 1, atMs: 2286 },
  ],
  [1, 4, 3, 5, 1, 3, 2, 25, 3, 139, 7, 3, 5, 3, 1, 6, 2, 8, 3, 2, 5, 2, 7, 331, 398, 1, 8, 4, 3, 1000, 7, 6, 6, 5, 1, 5, 7, 4, 51, 391, 6, 8, 4, 6, 6, 8],
  'runsc',
  { refusals: [], losses: [undefined, undefined, 'before'] },
];

test(
  'so they have at an engine that refuses some of what it is asked, and when connections to the database are lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, latency, runtimes, faultPlan, (...parts) => play(...parts)),
      { numRuns: RUNS, seed: SEED, examples: [SLOW_WAKE] },
    );
  },
  TIME_LIMIT_MS,
);
