import { arch } from 'node:os';
import { fileURLToPath } from 'node:url';
import { limitNumbers } from './fence-limits.ts';
import { userRanges } from './own-user.ts';
import type { ControlGroups } from './control-groups.ts';
import { PROCESSORS, seccompFilter, type Processor } from './seccomp-filter.ts';
import { sharedObjectsOf } from './shared-objects.ts';

/** A way of starting a program behind the fence. */
export interface Launching {
  /** The kind of user that the process gets; undefined where it keeps the worker's user. */
  user: string | undefined;
  /** Undefined where this way uses no control groups. */
  groups: ControlGroups | undefined;
  /** The launcher with its options. The program sees `files` and the files of Node, and no others. */
  words(files: string[]): [program: string, ...args: string[]];
}

export const LAUNCHER = fileURLToPath(new URL('./launch.pl', import.meta.url));
/** Working directory in the new root; empty. */
const DIRECTORY = '/empty';
/** An existing directory that contains none of the files. */
const PLACE = '/proc';

export function processor(): Processor | undefined {
  return PROCESSORS.find((name) => name === arch());
}

/** The files that Node itself needs; undefined where they cannot be determined. */
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
