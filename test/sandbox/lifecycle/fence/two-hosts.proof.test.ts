import * as fc from 'fast-check';
import { isFailure } from '../../../../src/contracts/errors.ts';
import { fenceOf } from '../../../../src/sandbox/engine/labels.ts';
import type { FakeDatabase } from '../fakes/fake-database.ts';
import { FakeTime, until } from '../fakes/fake-time.ts';
import { type Host, ID, noteNumbers, OWNER, twoHosts } from './hosts.ts';

const VERBS = ['open', 'run', 'run', 'run', 'archive', 'stop', 'move', 'move', 'reap', 'die'] as const;
/** Two hosts race for one sandbox here, as they do where their workers poll one task queue: each may be told that it is not the one. */
const ALLOWED = new Set(['SANDBOX_SUPERSEDED', 'SANDBOX_UNREACHABLE', 'SANDBOX_LOST', 'SANDBOX_CONFLICT', 'EXEC_NOT_FOUND', 'DETACHED']);

interface Step {
  verb: (typeof VERBS)[number];
  host: 0 | 1;
  atMs: number;
}

/** What happens when a host is given up: the row names another one, and a number that no container of the first has. */
async function move(database: FakeDatabase, hosts: Host[]): Promise<void> {
  const rows = database.sandboxes();
  const row = database.rows.get(ID);
  if (!row || row.state === 'archived' || row.state === 'creating') return;
  const to = hosts.find(({ world }) => world.hostId !== row.hostId)!;
  const fence = await rows.drawFence();
  await rows.change(ID, row.generation, { state: 'lost', filesLost: true, hostId: to.world.hostId, fence, volumeName: `moved-${fence}` });
}

async function act({ verb, host: number }: Step, index: number, hosts: Host[], database: FakeDatabase): Promise<unknown> {
  const host = hosts[number]!;
  const { sandboxes } = host.worker;
  switch (verb) {
    case 'open':
      return host.open();
    case 'run':
      return (host.handle ?? (await host.open())).run('work 300', { execId: `e${index}` });
    case 'archive':
      return sandboxes.archive(ID);
    case 'stop':
      return sandboxes.stop(ID);
    case 'reap':
      return sandboxes.reap();
    case 'move':
      return move(database, hosts);
    case 'die':
      return host.restart();
    default:
      return verb satisfies never;
  }
}

async function play(steps: Step[], latencies: number[]): Promise<void> {
  using time = new FakeTime();
  const { database, hosts, run } = twoHosts(time, latencies);
  await run(hosts[0]!.open());
  const open = new Set<number>();
  const errors: unknown[] = [];
  const seen = new Map<string, string>();
  steps.forEach((step, index) => {
    setTimeout(() => {
      const { worker } = hosts[step.host]!;
      open.add(index);
      act(step, index, hosts, database)
        .catch((error: unknown) => errors.push(error))
        .finally(() => open.delete(index));
      // What a worker had begun ends with it.
      const watch = () => (worker.isDead ? open.delete(index) : open.has(index) && setTimeout(watch, 50));
      watch();
    }, step.atMs);
  });
  let isLast = false;
  setTimeout(() => (isLast = true), Math.max(...steps.map(({ atMs }) => atMs)) + 1);
  await until(time, () => {
    noteNumbers(hosts, seen);
    return isLast && open.size === 0;
  });
  for (const error of errors) if (!isFailure(error) || !ALLOWED.has(error.code)) throw error;
  await judge(hosts, database, run);
}

/** Once both hosts have cleaned up, one container is left at most, that of the row; the sandbox is of use on its host; and nothing was begun twice. */
async function judge(hosts: Host[], database: FakeDatabase, run: <T>(work: Promise<T>) => Promise<T>): Promise<void> {
  for (const { world } of hosts) await run(world.worker().sandboxes.reap());
  const row = database.rows.get(ID)!;
  const left = hosts.flatMap(({ world }) => [...world.containers.values()].map(({ spec }) => ({ hostId: world.hostId, fence: fenceOf(spec.labels) })));
  expect(left.filter(({ fence, hostId }) => fence !== row.fence || hostId !== row.hostId)).toEqual([]);
  const starts = hosts.flatMap(({ world }) => [...world.volumes.values()].flatMap((volume) => [...volume.starts]));
  expect(starts.filter(([execId, count]) => count > 1 || starts.filter(([other]) => other === execId).length > 1)).toEqual([]);
  const own = hosts.find(({ world }) => world.hostId === row.hostId)!.world.worker();
  const { handle } = await run(own.sandboxes.open(OWNER, {}));
  expect(await run(handle.run('work 10', { execId: 'last' }))).toMatchObject({ status: 'exited' });
}

const latency = fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 2, arbitrary: fc.integer({ min: 20, max: 200 }) }), {
  minLength: 20,
  maxLength: 60,
});
const steps = fc.array(fc.record({ verb: fc.constantFrom(...VERBS), host: fc.constantFrom(0 as const, 1 as const), atMs: fc.integer({ min: 0, max: 3000 }) }), {
  minLength: 2,
  maxLength: 10,
});
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 60);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);

test('whatever two hosts, their workers and the moves of a sandbox do at the same time: numbers are given once, one container is left, nothing runs twice', async () => {
  await fc.assert(fc.asyncProperty(steps, latency, play), { numRuns: RUNS, seed: SEED });
}, 300_000);
