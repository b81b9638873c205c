import * as fc from 'fast-check';
import { isFailure } from '../../../../src/contracts/errors.ts';
import type { FakeDatabase } from '../fakes/fake-database.ts';
import { FakeTime, until } from '../fakes/fake-time.ts';
import { type Host, ID, OWNER, twoHosts } from '../fence/hosts.ts';

const VERBS = [
  'open',
  'run',
  'run',
  'run',
  'backUp',
  'backUp',
  'backUp',
  'freeze',
  'pause',
  'stop',
  'archive',
  'volume',
  'cut',
  'cut',
  'mend',
  'blobs',
  'reap',
  'restart',
  'tier',
] as const;
const ALLOWED = new Set([
  'SANDBOX_SUPERSEDED',
  'SANDBOX_UNREACHABLE',
  'SANDBOX_LOST',
  'SANDBOX_CONFLICT',
  'SANDBOX_NOT_FOUND',
  'EXEC_NOT_FOUND',
  'DETACHED',
  'POSTGRES_UNAVAILABLE',
  'BLOB_FAILED',
  'CHECKPOINT_FAILED',
]);

interface Step {
  verb: (typeof VERBS)[number];
  host: 0 | 1;
  atMs: number;
}
interface World {
  database: FakeDatabase;
  hosts: Host[];
}

/** As a worker does it: see `startBackups`. */
async function backUp({ database, hosts }: World, number: 0 | 1): Promise<unknown> {
  const { sandboxes } = hosts[number]!.worker;
  const backups = database.backups.queries();
  const attempt = await backups.begin(ID);
  if (attempt === undefined) return undefined;
  try {
    return await sandboxes.backUp!(attempt, { keep: 1, signal: new AbortController().signal });
  } finally {
    await backups.release(attempt, 0);
  }
}

/** Somebody removes the sandbox's container and its volume from its host. */
function loseVolume({ database, hosts }: World): void {
  const row = database.rows.get(ID);
  const world = hosts.find((host) => host.world.hostId === row?.hostId)?.world;
  const container = row && world?.container(row.containerName);
  if (!row || !world || container?.status !== 'running') return;
  container.supervisor?.end();
  world.containers.delete(container.id);
  world.volumes.delete(row.volumeName);
}

type Act = (host: Host, world: World, step: Step & { index: number }) => unknown;

const ACTS: Record<Step['verb'], Act> = {
  open: (host) => host.open(),
  run: async (host, _world, { index }) => (host.handle ?? (await host.open())).run('work 300', { execId: `e${index}` }),
  backUp: (_host, world, { host }) => backUp(world, host),
  freeze: ({ worker }) => worker.sandboxes.freeze(ID),
  async pause({ worker }) {
    await worker.sandboxes.freeze(ID, { mode: 'pause' });
    setTimeout(() => void worker.sandboxes.wake(ID).catch(() => undefined), 5000);
  },
  stop: ({ worker }) => worker.sandboxes.stop(ID),
  archive: ({ worker }) => worker.sandboxes.archive(ID),
  volume: (_host, world) => loseVolume(world),
  cut: ({ world }) => (world.isCutOff = true),
  mend: ({ world }) => (world.isCutOff = false),
  blobs: (_host, { database }) => (database.isWithoutBlobs = !database.isWithoutBlobs),
  reap: ({ worker }) => worker.sandboxes.reap(),
  tier: ({ worker }) => worker.sandboxes.tier(ID),
  restart(host) {
    host.restart();
    return keep(host);
  },
};

const act = async (step: Step, index: number, world: World): Promise<unknown> => ACTS[step.verb](world.hosts[step.host]!, world, { ...step, index });

async function keep(host: Host): Promise<void> {
  await host.worker.sandboxes.keepHost?.().catch(() => undefined);
}

interface Seen {
  backups: number;
  broughtBack: number;
}

async function play(steps: Step[], latencies: number[]): Promise<Seen> {
  using time = new FakeTime();
  const { database, hosts, run } = twoHosts(time, latencies);
  const world = { database, hosts };
  for (const host of hosts) await run(keep(host));
  await run(hosts[0]!.open());
  const open = new Set<number>();
  const errors: unknown[] = [];
  let isLast = false;
  steps.forEach((step, index) =>
    setTimeout(() => {
      const { worker } = hosts[step.host]!;
      open.add(index);
      act(step, index, world)
        .catch((error: unknown) => errors.push(error))
        .finally(() => open.delete(index));
      const watch = () => (worker.isDead ? open.delete(index) : open.has(index) && setTimeout(watch, 1000));
      watch();
    }, step.atMs),
  );
  setTimeout(
    () => {
      isLast = true;
      database.isWithoutBlobs = false;
      for (const host of hosts) host.world.isCutOff = false;
    },
    Math.max(...steps.map(({ atMs }) => atMs)) + 1,
  );
  await until(time, () => isLast && open.size === 0);
  for (const error of errors) if (!isFailure(error) || !ALLOWED.has(error.code)) throw error;
  return await judge(world, run);
}

async function judge(world: World, run: <T>(work: Promise<T>) => Promise<T>): Promise<Seen> {
  const { database, hosts } = world;
  for (const host of hosts) host.restart();
  // A backup of a container is never followed by one of an earlier container.
  const fences = database.backups.stored.map(({ fence }) => fence);
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  // Nothing that the row names is removed, and nothing else is left.
  database.areBlobsOld = true;
  for (const { worker } of hosts) await run(worker.sandboxes.reap());
  const { backup, archive, hostId } = database.rows.get(ID)!;
  const named = [...(backup?.parts ?? []).map(({ blob }) => blob.blobId), ...(archive ? [archive.files.blobId] : [])];
  expect((await database.blobs().list()).map(({ blobId }) => blobId).toSorted()).toEqual(named.toSorted());
  const broughtBack = await loseAll(
    hosts.find(({ world: { hostId: id } }) => id === hostId)!,
    database,
    run,
  );
  return { backups: fences.length, broughtBack };
}

/** Everything on the host is lost, whatever happened before: the sandbox has the files of the newest backup, and says so. Returns how many they are. */
async function loseAll({ worker, world }: Host, database: FakeDatabase, run: <T>(work: Promise<T>) => Promise<T>): Promise<number> {
  await run(worker.sandboxes.open(OWNER, {}));
  world.container(database.rows.get(ID)!.containerName)?.supervisor?.end();
  world.containers.clear();
  world.volumes.clear();
  const { lost } = await run(worker.sandboxes.open(OWNER, {}));
  const newest = database.backups.stored.at(-1)?.backup;
  const { backup, volumeName } = database.rows.get(ID)!;
  expect(backup).toEqual(newest);
  expect([...(world.volumes.get(volumeName)?.files.names ?? [])]).toHaveLength(newest?.files ?? 0);
  expect(lost).toContain(newest === undefined ? 'it starts empty' : `it starts with those of its backup of ${newest.at}`);
  return newest?.files ?? 0;
}

const step = (verb: Step['verb'], host: Step['host'], atMs: number): Step => ({ verb, host, atMs });
const QUICK = [1];

test('a host that is cut off while it backs up does not replace the backup of the host that has taken over', async () => {
  const seen = await play(
    [
      step('run', 0, 1000),
      step('backUp', 0, 3000),
      step('run', 0, 4000),
      step('cut', 0, 5000),
      step('open', 1, 150_000),
      step('run', 1, 151_000),
      step('backUp', 1, 153_000),
      step('mend', 0, 160_000),
      step('backUp', 0, 160_001),
    ],
    QUICK,
  );
  // The first command of each host; what came after the first backup is lost with its host.
  expect(seen).toEqual({ backups: 2, broughtBack: 2 });
});

test('while the blob store is away the older backup holds, and the next one has all that came since', async () => {
  const steps = [step('run', 0, 1000), step('backUp', 0, 3000), step('blobs', 0, 4000), step('run', 0, 5000), step('backUp', 0, 7000)];
  expect(await play([...steps, step('tier', 0, 10_000)], QUICK)).toEqual({ backups: 1, broughtBack: 1 });
  expect(await play([...steps, step('blobs', 0, 8000), step('backUp', 0, 9000), step('tier', 0, 10_000)], QUICK)).toEqual({ backups: 2, broughtBack: 2 });
});

const latency = fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 2, arbitrary: fc.integer({ min: 20, max: 400 }) }), {
  minLength: 20,
  maxLength: 60,
});
const steps = fc.array(
  fc.record({
    verb: fc.constantFrom(...VERBS),
    host: fc.constantFrom(0 as const, 0 as const, 1 as const),
    atMs: fc.oneof(fc.integer({ min: 0, max: 4000 }), fc.integer({ min: 0, max: 200_000 })),
  }),
  { minLength: 4, maxLength: 16 },
);
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 60);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);

test(
  'whatever hosts, blob store, commands and rests do meanwhile: the row names a whole backup of the newest container that made one, and no other blob is left',
  async () => {
    const seen = { backups: 0, broughtBack: 0 };
    await fc.assert(
      fc.asyncProperty(steps, latency, async (played, latencies) => {
        const { backups, broughtBack } = await play(played, latencies);
        seen.backups += backups;
        seen.broughtBack += broughtBack;
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(seen.backups).toBeGreaterThan(RUNS / 5);
    expect(seen.broughtBack).toBeGreaterThan(0);
  },
  300_000 + RUNS * 1000,
);
