import * as fc from 'fast-check';
import { isFailure } from '../../../../src/contracts/errors.ts';
import { fenceOf } from '../../../../src/sandbox/engine/labels.ts';
import type { FakeDatabase } from '../fakes/fake-database.ts';
import { faultPlan, Faults, NO_FAULTS, planned } from '../fakes/fake-faults.ts';
import { FakeTime, until } from '../fakes/fake-time.ts';
import { type Host, ID, noteNumbers, OWNER, twoHosts } from './hosts.ts';

const VERBS = ['open', 'open', 'run', 'run', 'long', 'cut', 'cut', 'mend', 'reap', 'restart'] as const;
const ALLOWED = new Set([
  'SANDBOX_SUPERSEDED',
  'SANDBOX_UNREACHABLE',
  'SANDBOX_LOST',
  'SANDBOX_CONFLICT',
  'SANDBOX_NOT_FOUND',
  'EXEC_NOT_FOUND',
  'DETACHED',
  'DOCKER_FAILED',
  'POSTGRES_UNAVAILABLE',
]);

interface Step {
  verb: (typeof VERBS)[number];
  host: 0 | 1;
  atMs: number;
}

async function keep(host: Host): Promise<void> {
  await host.worker.sandboxes.keepHost?.().catch(() => undefined);
}

async function act({ verb, host: number }: Step, index: number, hosts: Host[]): Promise<unknown> {
  const host = hosts[number]!;
  switch (verb) {
    case 'open':
      return host.open();
    case 'run':
      return (host.handle ?? (await host.open())).run('work 20000', { execId: `e${index}` });
    case 'long':
      return (host.handle ?? (await host.open())).run('work 400000', { execId: `e${index}` });
    case 'cut':
      return (host.world.isCutOff = true);
    case 'mend':
      return (host.world.isCutOff = false);
    case 'reap':
      return host.worker.sandboxes.reap();
    case 'restart':
      host.restart();
      return keep(host);
    default:
      return verb satisfies never;
  }
}

/** What the two hosts have done, with the time at which a sandbox was taken over. */
async function play(steps: Step[], latencies: number[], faults = NO_FAULTS): Promise<FakeDatabase['moves']> {
  using time = new FakeTime();
  const { database, hosts, run } = twoHosts(time, latencies);
  for (const host of hosts) await run(keep(host));
  await run(hosts[0]!.open());
  const next = planned(faults);
  for (const { world } of hosts) Object.assign(world, next);
  const open = new Set<number>();
  const errors: unknown[] = [];
  const seen = new Map<string, string>();
  const lastMs = Math.max(...steps.map(({ atMs }) => atMs));
  let isLast = false;
  steps.forEach((step, index) =>
    setTimeout(() => {
      const { worker } = hosts[step.host]!;
      open.add(index);
      act(step, index, hosts)
        .catch((error: unknown) => errors.push(error))
        .finally(() => open.delete(index));
      const watch = () => (worker.isDead ? open.delete(index) : open.has(index) && setTimeout(watch, 1000));
      watch();
    }, step.atMs),
  );
  setTimeout(() => {
    isLast = true;
    for (const { world } of hosts) Object.assign(world, new Faults());
  }, lastMs + 1);
  await until(time, () => {
    noteNumbers(hosts, seen);
    return isLast && open.size === 0;
  });
  for (const error of errors) if (!isFailure(error) || !ALLOWED.has(error.code)) throw error;
  // From the moment on at which a sandbox was taken over, nothing begins in an older container, whatever its host knows of it.
  const begun = hosts.flatMap(({ world }) =>
    [...world.volumes.values()].flatMap(({ labels, startedAtMs }) => [...startedAtMs].map(([execId, atMs]) => ({ execId, atMs, fence: fenceOf(labels) }))),
  );
  for (const { atMs, fence } of database.moves) expect(begun.filter((exec) => exec.fence < fence && exec.atMs > atMs)).toEqual([]);
  for (const host of hosts) host.restart();
  for (const { worker } of hosts) await run(worker.sandboxes.reap());
  const row = database.rows.get(ID)!;
  const left = hosts.flatMap(({ world }) => [...world.containers.values()].map(({ spec }) => ({ hostId: world.hostId, fence: fenceOf(spec.labels) })));
  expect(left.filter(({ fence, hostId }) => fence !== row.fence || hostId !== row.hostId)).toEqual([]);
  const { handle } = await run(hosts.find(({ world }) => world.hostId === row.hostId)!.worker.sandboxes.open(OWNER, {}));
  expect(await run(handle.run('work 10', { execId: 'last' }))).toMatchObject({ status: 'exited' });
  return database.moves;
}

const step = (verb: Step['verb'], host: Step['host'], atMs: number): Step => ({ verb, host, atMs });
const QUICK = [1];

test('a host that vanishes in the middle of a command is given up after its time; its container, when it is back, takes no command and is removed', async () => {
  const moves = await play(
    [
      step('long', 0, 100_000),
      step('cut', 0, 105_000),
      // Too early.
      step('open', 1, 150_000),
      step('run', 1, 180_000),
      // With a stream that was open all the time.
      step('mend', 0, 220_000),
      step('run', 0, 220_001),
      step('run', 0, 235_000),
    ],
    QUICK,
  );
  expect(moves).toHaveLength(1);
  expect(moves[0]!.atMs).toBeGreaterThan(180_000);
});

test('where the database was away, no host gives up another', async () => {
  const moves = await play(
    [step('cut', 0, 1), step('cut', 1, 2), step('mend', 1, 200_000), step('open', 1, 211_000), step('mend', 0, 215_000), step('open', 1, 290_000)],
    QUICK,
  );
  expect(moves).toEqual([]);
});

const latency = fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 2, arbitrary: fc.integer({ min: 20, max: 400 }) }), {
  minLength: 20,
  maxLength: 60,
});
const steps = fc.array(
  fc.record({ verb: fc.constantFrom(...VERBS), host: fc.constantFrom(0 as const, 1 as const), atMs: fc.integer({ min: 0, max: 400_000 }) }),
  { minLength: 4, maxLength: 14 },
);
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 40);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);

test('whenever hosts are cut off from the database and come back: nothing begins in a container once the sandbox has been taken over, and one container is left', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(steps, latency, async (played, latencies) => {
      taken += (await play(played, latencies)).length;
    }),
    { numRuns: RUNS, seed: SEED },
  );
  expect(taken).toBeGreaterThan(0);
}, 600_000);

test('so it is when an engine refuses some of what it is asked, and connections to the database are lost', async () => {
  await fc.assert(
    fc.asyncProperty(steps, latency, faultPlan, async (played, latencies, faults) => void (await play(played, latencies, faults))),
    { numRuns: RUNS, seed: SEED },
  );
}, 600_000);
