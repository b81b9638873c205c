import { randomBytes } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../../../src/common/in-time.ts';
import { factsOf } from '../../../src/platform/process-identity.ts';

/** Control groups of the first and the second generation: where they are, and their files about memory. */
const GENERATIONS = [
  { root: '/sys/fs/cgroup/memory', limits: ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'], kills: 'memory.oom_control' },
  { root: '/sys/fs/cgroup', limits: ['memory.max', 'memory.swap.max'], kills: 'memory.events' },
];
/** What a process may take from now on, together with the one that takes it away. */
const LEFT_BYTES = 100 * 2 ** 20;
const KILLED_AFTER_MS = 30_000;
const REMOVALS = 50;
const PAUSE_MS = 50;

/** Want of memory for some processes: a control group, which takes a hundred megabytes of this machine at most. */
export interface Famine extends AsyncDisposable {
  /** Takes all memory from a process until the kernel kills it. */
  starve(pid: number): Promise<void>;
}

type Generation = (typeof GENERATIONS)[number];

/** Why this machine cannot do it; undefined when it can. */
export async function whyNoFamine(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return 'only root on Linux can limit the memory of processes';
  try {
    await using _famine = await openFamine();
    return undefined;
  } catch (error) {
    return `the memory of processes cannot be limited below /sys/fs/cgroup: ${(error as Error).message}`;
  }
}

/** @throws where control groups do not limit memory */
export async function openFamine(): Promise<Famine> {
  // The second generation has a file of this name in no other group than the first.
  const generation = GENERATIONS.find(({ root }) => existsSync(join(root, 'cgroup.procs')));
  if (!generation) throw new Error('there are no control groups');
  const group = join(generation.root, `longshore-chaos-${randomBytes(4).toString('hex')}`);
  await mkdir(group);
  try {
    for (const [index, file] of generation.limits.entries())
      if (index === 0 || existsSync(join(group, file))) await writeFile(join(group, file), `${LEFT_BYTES}`);
  } catch (error) {
    await removeGroup(group);
    throw error;
  }
  let taker: ChildProcess | undefined;
  const end = async () => {
    if (taker?.exitCode !== null || taker.signalCode !== null) return;
    const ended = once(taker, 'exit');
    taker.kill('SIGKILL');
    await ended;
  };
  return {
    async starve(pid) {
      const before = await killsIn(group, generation);
      // The kernel chooses the one with the most.
      await writeFile(`/proc/${pid}/oom_score_adj`, '1000');
      await writeFile(join(group, 'cgroup.procs'), String(pid));
      taker = spawn('sh', ['-c', 'echo $$ > "$0" && exec tail /dev/zero', join(group, 'cgroup.procs')], { stdio: 'ignore' });
      try {
        await inTime(untilDead(pid), KILLED_AFTER_MS, () => new Error(`the kernel has not killed process ${pid}`));
      } finally {
        await end();
      }
      if ((await killsIn(group, generation)) === before) throw new Error(`process ${pid} has ended, and the kernel did not kill it`);
    },
    async [Symbol.asyncDispose]() {
      await end();
      await removeGroup(group);
    },
  };
}

async function killsIn(group: string, { kills }: Generation): Promise<number> {
  return Number(/^oom_kill (\d+)$/m.exec(await readFile(join(group, kills), 'utf8'))?.[1] ?? 0);
}

async function untilDead(pid: number): Promise<void> {
  for (let facts; (facts = await factsOf(String(pid))) && facts.state !== 'Z';) await sleep(PAUSE_MS);
}

/** The processes that were in it may still be ending. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await rmdir(group);
    } catch (error) {
      if (tries === REMOVALS) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
