import * as fc from 'fast-check';
import { isFailure } from '../../../src/contracts/errors.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { faultPlan, Faults, NO_FAULTS, planned } from './fakes/fake-faults.ts';
import { FakeTime, runIn, until } from './fakes/fake-time.ts';
import { FakeWorld, type FakeWorker } from './fakes/fake-world.ts';
import { REFUSED } from './fakes/until-done.ts';

const ID = 'sbx_1';
const OWNER = { sandboxId: ID, tenantId: 'tenant' };
/** Virtual time after which someone resumes a sandbox that was paused or put to disk. */
const RESUME_MS = 10_000;
const MOST_RESUMES = 10;
/** Virtual. Then what is left is old enough for the reaper. */
const CALM_MS = 90_000;

type Verb = (parts: { sandboxes: Sandboxes; handle: SandboxHandle; number: number; worker: FakeWorker }) => Promise<unknown>;

const COMMANDS: Record<string, Verb> = {
  short: ({ handle, number }) => handle.run('work 10', { execId: `e${number}` }),
  long: ({ handle, number }) => handle.run('work 3000', { execId: `e${number}` }),
  same: ({ handle }) => handle.run('work 500', { execId: 'same' }),
  start: ({ handle, number }) => handle.start('work 2000', { execId: `e${number}` }),
  input: async ({ handle, number }) => {
    await handle.start('wait', { execId: `e${number}`, stdin: '' });
    await handle.writeStdin(`e${number}`, 'x', { end: true });
    return handle.attach(`e${number}`);
  },
  kill: async ({ handle, number }) => {
    await handle.start('work 100000', { execId: `e${number}` });
    await handle.kill(`e${number}`);
    return handle.attach(`e${number}`);
  },
  read: ({ handle }) => handle.readFile('/x'),
  list: ({ handle }) => handle.execs(),
};
const RESTS: Record<string, Verb> = {
  freeze: ({ sandboxes }) => sandboxes.freeze(ID),
  wake: ({ sandboxes }) => sandboxes.wake(ID),
  tier: ({ sandboxes }) => sandboxes.tier(ID),
  open: ({ sandboxes }) => sandboxes.open(OWNER, {}),
};
const PAUSES: Record<string, Verb> = {
  pause: ({ sandboxes }) => sandboxes.freeze(ID, { mode: 'pause' }),
  hibernate: ({ sandboxes }) => sandboxes.hibernate(ID),
};
const ENDS: Record<string, Verb> = {
  stop: ({ sandboxes }) => sandboxes.stop(ID),
  archive: ({ sandboxes }) => sandboxes.archive(ID),
  destroy: ({ sandboxes }) => sandboxes.destroy(ID),
  dispose: ({ sandboxes }) => sandboxes[Symbol.asyncDispose](),
  die: async ({ worker }) => worker.die(),
};
/** Verbs that leave the sandbox in another state. */
const RESTING: Record<string, Verb> = { ...RESTS, ...PAUSES, stop: ENDS['stop']!, archive: ENDS['archive']!, destroy: ENDS['destroy']! };
const ALL = { ...COMMANDS, ...RESTS, ...PAUSES, ...ENDS };

interface Step {
  verb: string;
  /** 0 and 1 are handles of one worker, 2 is of another. */
  actor: number;
  atMs: number;
}
interface Outcome extends Step {
  number: number;
  settled?: { value: unknown } | { error: unknown };
  isDead: () => boolean;
}

/** What an operation may be told when a verb of that kind is among the others. Without any of them none may fail. */
const ERRORS: Record<string, string[]> = {
  stop: ['SANDBOX_LOST', 'SANDBOX_CONFLICT', 'EXEC_NOT_FOUND'],
  archive: ['SANDBOX_LOST', 'SANDBOX_CONFLICT', 'EXEC_NOT_FOUND'],
  hibernate: ['SANDBOX_LOST', 'SANDBOX_CONFLICT'],
  destroy: ['SANDBOX_DESTROYED', 'SANDBOX_LOST', 'SANDBOX_CONFLICT', 'EXEC_NOT_FOUND', 'SANDBOX_NOT_FOUND'],
  dispose: ['DETACHED', 'SANDBOX_UNREACHABLE'],
  die: ['SANDBOX_LOST'],
};

async function play(steps: Step[], latencies: number[], runtime: 'runc' | 'runsc', faults = NO_FAULTS): Promise<void> {
  using time = new FakeTime();
  let drawn = 0;
  const world = new FakeWorld(() => latencies[(drawn += 1) % latencies.length] ?? 1);
  const workers = [world.worker(), world.worker()];
  const run = runIn(time);
  const open = async (worker: FakeWorker) => ({ worker, sandboxes: worker.sandboxes, handle: (await run(worker.sandboxes.open(OWNER, { runtime }))).handle });
  const first = await open(workers[0]!);
  const actors = [first, await open(workers[0]!), await open(workers[1]!)];
  Object.assign(world, planned(faults));
  const outcomes = steps.map((step, number): Outcome => {
    const actor = actors[step.actor]!;
    const outcome: Outcome = { ...step, number, isDead: () => actor.worker.isDead };
    setTimeout(() => {
      // An error that is thrown at once counts as one that is rejected with.
      const working = (async () => ALL[step.verb]!({ ...actor, number }))();
      working.then(
        (value) => (outcome.settled = { value }),
        (error: unknown) => (outcome.settled = { error }),
      );
    }, step.atMs);
    return outcome;
  });
  const isOver = () => outcomes.every(({ settled, isDead }) => settled !== undefined || isDead());
  if (steps.some(({ verb }) => verb in PAUSES || verb === 'archive' || verb === 'die')) await resumeUntil(isOver, { time, world, run });
  await until(time, isOver).catch(() => {
    throw new Error(`never settled: ${JSON.stringify(outcomes.filter(({ settled, isDead }) => !settled && !isDead()))}; ${JSON.stringify(world.rows.get(ID))}`);
  });
  Object.assign(world, new Faults());
  judge(steps, outcomes, faults === NO_FAULTS ? [] : [...REFUSED]);
  // What was refused is asked for again, as callers do.
  for (const { verb, number, settled, isDead } of outcomes) {
    const again = settled && 'error' in settled && isFailure(settled.error) && REFUSED.includes(settled.error.code) && verb in RESTING && !isDead();
    if (again) await run(RESTING[verb]!({ ...actors[steps[number]!.actor]!, number }).catch(() => undefined));
  }
  // A wake that an operation has asked for may come to its end after the operation.
  const calmMs = time.nowMs + CALM_MS;
  setTimeout(() => undefined, CALM_MS + 1);
  await until(time, () => time.nowMs > calmMs);
  // Removes what could not be removed.
  await run(world.worker().sandboxes.reap());
  await agree(world, steps, run);
}

/** Again and again: a rest that was asked for early may come after a wake. */
async function resumeUntil(
  isOver: () => boolean,
  { time, world, run }: { time: FakeTime; world: FakeWorld; run: <T>(work: Promise<T>) => Promise<T> },
): Promise<void> {
  const { sandboxes } = world.worker();
  const beganMs = time.nowMs;
  for (let resumes = 1; resumes <= MOST_RESUMES && !isOver(); resumes += 1) {
    await until(time, () => isOver() || time.nowMs - beganMs > resumes * RESUME_MS);
    if (!isOver()) await run(sandboxes.wake(ID).catch(() => undefined));
  }
}

/** @param more errors that any operation may be told */
function judge(steps: Step[], outcomes: Outcome[], more: string[]): void {
  const allowed = new Set([...more, ...steps.flatMap(({ verb }) => ERRORS[verb] ?? [])]);
  for (const { verb, settled } of outcomes) {
    if (settled === undefined) continue;
    if ('error' in settled) {
      if (!isFailure(settled.error) || !allowed.has(settled.error.code)) throw new Error(`${verb} failed`, { cause: settled.error });
    } else if (['short', 'long', 'same', 'input'].includes(verb)) expect(settled.value).toMatchObject({ status: 'exited', exitCode: 0 });
    else if (verb === 'kill') expect(settled.value).toMatchObject({ status: 'killed' });
    else if (verb === 'destroy' || verb === 'dispose') expect(settled.value).toBeUndefined();
  }
}

/** Row, container and supervisor say the same, and the sandbox is of use again; and nothing was begun twice. */
async function agree(world: FakeWorld, steps: Step[], run: <T>(work: Promise<T>) => Promise<T>): Promise<void> {
  const row = world.rows.get(ID)!;
  const container = world.container(row.containerName);
  if (!steps.some(({ verb }) => verb === 'die')) {
    const status = container?.status ?? 'none';
    const fits: Record<string, string[]> = {
      running: ['running'],
      frozen: ['paused'],
      hibernated: ['ended'],
      stopped: ['ended', 'created', 'none'],
      archived: ['none'],
      lost: ['ended', 'none'],
      destroyed: ['none'],
    };
    expect({ state: row.state, status }).toEqual({ state: row.state, status: expect.stringMatching(`^(${fits[row.state]?.join('|')})$`) });
    if (row.state === 'destroyed') expect(world.volumes.has(row.volumeName)).toBe(false);
  }
  for (const [execId, starts] of world.volumes.get(row.volumeName)?.starts ?? []) expect({ execId, starts }).toEqual({ execId, starts: 1 });
  const last = world.worker().sandboxes;
  if (row.state === 'destroyed') return run(last.destroy(ID));
  const { handle } = await run(last.open(OWNER, {}));
  expect(await run(handle.run('work 10', { execId: 'last' }))).toMatchObject({ status: 'exited' });
  expect(await run(last.tier(ID))).toBe('running');
}

const latency = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 2, arbitrary: fc.integer({ min: 20, max: 200 }) },
    { weight: 1, arbitrary: fc.constant(2000) },
  ),
  {
    minLength: 20,
    maxLength: 60,
  },
);
/** Most verbs wake the sandbox; what waits for a wake that never comes shows only without them. */
const OFTEN = ['long', 'long', 'long', 'freeze', 'freeze', 'freeze'];
const stepsOf = (verbs: object) =>
  fc.array(
    fc.record({
      verb: fc.constantFrom(...Object.keys(verbs), ...OFTEN),
      actor: fc.integer({ min: 0, max: 2 }),
      atMs: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 4000 })),
    }),
    {
      minLength: 2,
      maxLength: 9,
    },
  );

/** More of them, and others, are a matter of the environment. */
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 40);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);
/** Of the whole test on a busy machine. What a run waits for has limits of its own, in virtual time. */
const TIME_LIMIT_MS = 600_000 + RUNS * 1000;

test.each([
  ['freezes and wakes', 'runc', { ...COMMANDS, ...RESTS }],
  ['pauses and hibernation as well', 'runsc', { ...COMMANDS, ...RESTS, ...PAUSES }],
  ['everything', 'runc', ALL],
  ['everything in gVisor', 'runsc', ALL],
] as const)(
  'commands amid %s (%s) settle in bounded time, with the truth, and leave row, container and supervisor agreed',
  async (_name, runtime, verbs) => {
    await fc.assert(
      fc.asyncProperty(stepsOf(verbs), latency, (steps, latencies) => play(steps, latencies, runtime)),
      { numRuns: RUNS, seed: SEED },
    );
  },
  TIME_LIMIT_MS,
);

/** Not with workers that die: what one does not hold any more may be frozen while the engine starts its program. */
const { die: _die, ...MOST } = ALL;

test(
  'so they do at an engine that refuses some of what it is asked, and when connections to the database are lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(MOST), latency, faultPlan, fc.constantFrom('runc', 'runsc'), (steps, latencies, faults, runtime) =>
        play(steps, latencies, runtime, faults),
      ),
      { numRuns: RUNS, seed: SEED },
    );
  },
  TIME_LIMIT_MS,
);
