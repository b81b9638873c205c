import * as fc from 'fast-check';
import { isFailure } from '../../../../src/contracts/errors.ts';
import type { FakeDatabase } from '../fake-database.ts';
import { FakeTime } from '../fake-time.ts';
import { type Host, ID, OWNER, twoHosts, until } from '../fence/hosts.ts';

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

async function act({ verb, host: number }: Step, index: number, world: World): Promise<unknown> {
  const host = world.hosts[number]!;
  const { sandboxes } = host.worker;
  switch (verb) {
    case 'open':
      return host.open();
    case 'run':
      return (host.handle ?? (await host.open())).run('work 300', { execId: `e${index}` });
    case 'backUp':
      return backUp(world, number);
    case 'freeze':
      return sandboxes.freeze(ID);
    case 'pause':
      await sandboxes.freeze(ID, { mode: 'pause' });
      return setTimeout(() => void sandboxes.wake(ID).catch(() => undefined), 5000);
    case 'stop':
      return sandboxes.stop(ID);
    case 'archive':
      return sandboxes.archive(ID);
    case 'volume':
      return loseVolume(world);
    case 'cut':
      return (host.world.isCutOff = true);
    case 'mend':
      return (host.world.isCutOff = false);
    case 'blobs':
      return (world.database.isWithoutBlobs = !world.database.isWithoutBlobs);
    case 'reap':
      return sandboxes.reap();
    case 'tier':
      return sandboxes.tier(ID);
    case 'restart':
      host.restart();
      return keep(host);
    default:
      return verb satisfies never;
  }
}

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

async function judge({ database, hosts }: World, run: <T>(work: Promise<T>) => Promise<T>): Promise<Seen> {
  for (const host of hosts) host.restart();
  // A backup of a container is never followed by one of an earlier container.
  const fences = database.backups.stored.map(({ fence }) => fence);
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  const row = database.rows.get(ID)!;
  const host = hosts.find(({ world }) => world.hostId === row.hostId)!;
  // Nothing that the row names is removed, and nothing else is left.
  database.areBlobsOld = true;
  for (const { worker } of hosts) await run(worker.sandboxes.reap());
  const named = [...(row.backup?.parts ?? []).map(({ blob }) => blob.blobId), ...(row.archive ? [row.archive.files.blobId] : [])];
  expect((await database.blobs().list()).map(({ blobId }) => blobId).toSorted()).toEqual(named.toSorted());
  const { worker, world } = host;
  await run(worker.sandboxes.open(OWNER, {}));
  // Its volume is lost now, whatever happened before: the newest backup has all that it says.
  const filesOf = () => [...(world.volumes.get(database.rows.get(ID)!.volumeName)?.files.names ?? [])];
  const before = database.rows.get(ID)!;
  world.container(before.containerName)?.supervisor?.end();
  world.containers.clear();
  world.volumes.clear();
  const { lost } = await run(host.worker.sandboxes.open(OWNER, {}));
  const newest = database.backups.stored.at(-1)?.backup;
  expect(database.rows.get(ID)!.backup).toEqual(newest);
  expect(filesOf()).toHaveLength(newest?.files ?? 0);
  expect(lost).toContain(newest === undefined ? 'it starts empty' : `it starts with those of its backup of ${newest.at}`);
  return { backups: fences.length, broughtBack: newest?.files ?? 0 };
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
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 25);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);

test('whatever hosts, blob store, commands and rests do meanwhile: the row names a whole backup of the newest container that made one, and no other blob is left', async () => {
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
}, 300_000);
