import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Limits that the kernel enforces on a plugin's process. The limit on memory includes memory of the kernel. */
export interface ControlGroups {
  /** Options of the launcher. */
  words: string[];
  /** Removes the groups of a launcher that has ended. */
  remove(pid: number): Promise<void>;
}

interface Bounds {
  memoryBytes: number;
  processes: number;
}

const NAME = 'longshore-plugins';
/** One processor. */
const CPU = { quota: 100_000, period: 100_000 };
const ATTEMPTS = 40;
const PAUSE_MS = 25;

/**
 * The control groups that this machine lets a worker make; undefined where it does not. Removes groups that killed workers have left: the kernel
 * refuses to remove a group that contains a process.
 */
export async function findControlGroups(bounds: Bounds, top = '/sys/fs/cgroup'): Promise<ControlGroups | undefined> {
  const places = (await unified(bounds, top)) ?? (await separate(bounds, top));
  if (!places) return undefined;
  for (const { parent } of places) {
    const made = await mkdir(parent, { recursive: true }).then(
      () => access(parent, constants.W_OK).then(() => true),
      () => false,
    );
    if (!made) return undefined;
    const left = await readdir(parent, { withFileTypes: true }).catch(() => []);
    await Promise.all(left.filter((each) => each.isDirectory()).map((each) => rmdir(join(parent, each.name)).catch(() => undefined)));
  }
  // Process ids of workers in different containers may be the same.
  const mark = `${process.pid}-${randomBytes(4).toString('hex')}`;
  return {
    words: places.map(({ parent, values }) => `--group=${join(parent, `${mark}-%p`)}:${values.join(',')}`),
    async remove(pid) {
      await Promise.all(places.map(({ parent }) => removeSoon(join(parent, `${mark}-${pid}`))));
    },
  };
}

interface Place {
  parent: string;
  values: string[];
}

async function unified({ memoryBytes, processes }: Bounds, top: string): Promise<Place[] | undefined> {
  const active = await readFile(join(top, 'cgroup.subtree_control'), 'utf8').catch(() => '');
  const parent = join(top, NAME);
  if (!['memory', 'pids', 'cpu'].every((name) => active.split(/\s+/).includes(name))) return undefined;
  const made = await mkdir(parent, { recursive: true }).then(
    () => enable(parent),
    () => false,
  );
  if (!made) return undefined;
  return [{ parent, values: [`memory.max=${memoryBytes}`, `pids.max=${processes}`, `cpu.max=${CPU.quota} ${CPU.period}`] }];
}

async function enable(parent: string): Promise<boolean> {
  return writeFile(join(parent, 'cgroup.subtree_control'), '+memory +pids +cpu').then(
    () => true,
    () => false,
  );
}

/** Control groups version 1: each controller has a hierarchy of its own. */
async function separate({ memoryBytes, processes }: Bounds, top: string): Promise<Place[] | undefined> {
  const places: Place[] = [
    { parent: join(top, 'memory', NAME), values: [`memory.limit_in_bytes=${memoryBytes}`] },
    { parent: join(top, 'pids', NAME), values: [`pids.max=${processes}`] },
    { parent: join(top, 'cpu', NAME), values: [`cpu.cfs_period_us=${CPU.period}`, `cpu.cfs_quota_us=${CPU.quota}`] },
  ];
  const writable = await Promise.all(places.map(({ parent }) => access(join(parent, '..', 'cgroup.procs'), constants.W_OK).then(() => true)))
    .then(() => true)
    .catch(() => false);
  return writable ? places : undefined;
}

/** The kernel releases a group a moment after the last process in it has ended. */
async function removeSoon(directory: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const left = await rmdir(directory).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'EBUSY',
    );
    if (!left) return;
    await sleep(PAUSE_MS);
  }
}
