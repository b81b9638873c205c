import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { containerNameOf } from '../src/sandbox/engine/labels.ts';
import { compare, compareWithLimit, type BenchmarkResult, type Measurement } from './measure.ts';
import { toTier, type BenchParts } from './parts.ts';
import { isHidden, proportionalSetSizeMib } from './process-memory.ts';

const LIMIT_MIB = 25;
const LOOK_EVERY_MS = 200;
/** Looks at which the processes are the same ones: a sandbox prepares the next command after each. */
const STEADY = 5;
const MOST_LOOKS = 150;

/** What sandboxes that do nothing hold in memory: the proportional set size of all their processes, of one that runs and of one that is hibernated. */
export async function measureIdleMemory(parts: BenchParts): Promise<BenchmarkResult> {
  try {
    return [await measureRunning(parts), ...(await measureHibernated(parts))];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root, on the machine of the engine' };
    throw error;
  }
}

/** Alone on the machine, so nothing is shared with another sandbox. */
async function measureRunning({ sandboxes, docker, stack }: BenchParts): Promise<Measurement> {
  const sandboxId = 'sbx_bench_idle';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  try {
    await handle.run('true');
    const name = containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId);
    const processes = async () => {
      const { Processes: rows } = (await docker.getContainer(name).top({ ps_args: '-eo pid' })) as { Processes: string[][] };
      return rows.map(([pid]) => pid ?? '');
    };
    return compareWithLimit({ name: 'idle-memory', unit: 'MiB', limit: LIMIT_MIB }, [await sumOf(await atRest(processes))]);
  } finally {
    await sandboxes.destroy(sandboxId);
  }
}

/** Against the same sandbox before; of all processes that were started for its container, the engine's too. Nothing where the engine makes no checkpoints. */
async function measureHibernated({ sandboxes, docker, stack }: BenchParts): Promise<Measurement[]> {
  if (!(await sandboxes.capabilities()).checkpoint) return [];
  const sandboxId = 'sbx_bench_resting';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, { runtime: 'runsc', hibernateAfterMs: 1 });
  try {
    await handle.run('true');
    const { Id: id } = await docker.getContainer(containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId)).inspect();
    const awake = await sumOf(await processesOf(id));
    await toTier('hibernated', sandboxes.hibernate(sandboxId));
    const asleep = await sumOf(await processesOf(id));
    const head = { name: 'hibernated-memory', goal: 0, unit: 'MiB', baselineIs: 'the same sandbox while it runs' } as const;
    return [compare(head, { subject: [asleep], baseline: [awake] })];
  } finally {
    await sandboxes.destroy(sandboxId);
  }
}

async function atRest(processes: () => Promise<string[]>): Promise<string[]> {
  let [last, same] = ['', 0];
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const pids = await processes();
    const now = pids.toSorted().join();
    same = now === last ? same + 1 : 0;
    last = now;
    if (same === STEADY) return pids;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('the processes of the sandbox do not come to rest');
}

async function processesOf(containerId: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => commands[index]?.includes(containerId));
}

async function sumOf(pids: string[]): Promise<number> {
  return (await Promise.all(pids.map(proportionalSetSizeMib))).reduce((sum, size) => sum + size, 0);
}
