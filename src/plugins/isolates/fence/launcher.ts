import { arch } from 'node:os';
import { fileURLToPath } from 'node:url';
import { limitNumbers } from './limits.ts';
import { userRanges } from './own-user.ts';
import type { ControlGroups } from './control-groups.ts';
import { PROCESSORS, seccompFilter, type Processor } from './seccomp-filter.ts';
import { sharedObjectsOf } from './shared-objects.ts';

/** A way of starting a program behind the fence. */
export interface Launching {
  /** What it gives for the user of the process. */
  user: string | undefined;
  /** Undefined where the machine has no control groups that a worker may make. */
  groups: ControlGroups | undefined;
  /** The words before the options for one start, and the words that say which program it is. */
  words(files: string[]): [program: string, ...args: string[]];
}

export const LAUNCHER = fileURLToPath(new URL('./launch.pl', import.meta.url));
/** Where it is in its own root; empty. */
const DIRECTORY = '/empty';
/** An existing directory that none of the files is in. */
const PLACE = '/proc';

export function processor(): Processor | undefined {
  return PROCESSORS.find((name) => name === arch());
}

/** The files that Node itself needs; undefined where that cannot be told. */
export async function filesOfNode(): Promise<string[] | undefined> {
  const libraries = await sharedObjectsOf(process.execPath);
  return libraries && [process.execPath, ...libraries];
}

/** Ways that may work here, the better first. */
export async function launchings({ perl, groups, isRoot }: { perl: string; groups: ControlGroups | undefined; isRoot: boolean }): Promise<Launching[]> {
  const machine = processor();
  const nodeFiles = machine && (await filesOfNode());
  if (!machine || !nodeFiles) return [];
  const common = [`--arch=${machine}`, `--filter=${seccompFilter(machine)}`, ...limitNumbers().map((limit) => `--limit=${limit}`)];
  const root = (files: string[]) => [`--root=${PLACE}`, `--cwd=${DIRECTORY}`, ...[...nodeFiles, ...files].map((path) => `--bind=${path}`)];
  const way = (user: string | undefined, spaces: string[], used: ControlGroups | undefined): Launching => ({
    user,
    groups: used,
    words: (files) => [perl, LAUNCHER, ...common, ...spaces, ...(used?.words ?? []), ...root(files)],
  });
  const ranges = isRoot ? await userRanges() : [];
  const asRoot = ranges.flatMap(({ gives, first, count }) => {
    const spaces = ['--spaces=root', `--user=${first}:${count}`];
    return [...(groups ? [way(gives, spaces, groups)] : []), way(gives, spaces, undefined)];
  });
  return [...asRoot, way(undefined, ['--spaces=user'], undefined)];
}
