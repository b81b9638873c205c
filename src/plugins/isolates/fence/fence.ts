import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment } from '../../../platform/config.ts';
import { judgeFence, MODEL, NETWORK, type FenceLevel, type Judged } from './fence-parts.ts';
import { findControlGroups } from './control-groups.ts';
import type { FencedProcess } from './fenced-process.ts';
import { launchings, type Launching } from './launcher.ts';
import { measureFence, measureStarted, probeWords, type Obstacle } from './measure-fence.ts';
import { siblings, type Sibling } from './sibling.ts';
import { BOUNDS, MEMORY_BYTES, PROCESSES } from './fence-limits.ts';
import { OWN_USER } from './own-user.ts';
import { weakParts } from './weak-fence.ts';

export type { FenceLevel } from './fence-parts.ts';

export interface Fence {
  level: FenceLevel;
  /** Its parts, in words. */
  has: string[];
  missing: string[];
  /** Only of level C: each better way that was tried, and why it does not work here. */
  obstacles?: string[];
  /** The command that runs a script inside. Its process ends when the script ends, and the script is killed together with the process. */
  command(script: string): [program: string, ...args: string[]];
  /** Starts the script. Defined only where a start takes more than the command. */
  start?(script: string): FencedProcess;
  /** Removes what the process with this id leaves on the machine after its end. */
  clean(pid: number): Promise<void>;
}

export interface FenceOptions {
  /** The script that will run, where it is known: a container is tried with an image that contains it. */
  script?: string;
  /** Address of the Docker engine, in the form of `DOCKER_HOST`, which is the default. */
  engine?: string | undefined;
}

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const HEAP_MEGABYTES = 128;
const NOT_MADE_FOR = `it is not known which files Node at ${process.execPath} on ${process.arch} needs`;

/**
 * Tries what this machine offers. Each candidate is tried from inside, with actions that must fail. Takes tens of milliseconds, and longer where it tries a
 * container.
 * @param folders where it looks for perl, a shell and the programs of util-linux.
 */
export async function probeFence(folders: string[] = FOLDERS, options: FenceOptions = {}): Promise<Fence> {
  const isRoot = process.getuid?.() === 0;
  if (process.platform !== 'linux') return weakFence(folders, isRoot, ['namespaces and containers for plugins: only on Linux']);
  const perl = await find('perl', folders);
  if (perl === undefined) return weakFence(folders, isRoot, ['namespaces and containers for plugins: perl is not installed']);
  const launched = await probeLauncher(perl, isRoot);
  if ('level' in launched) return launched;
  const beside = await probeSiblings(perl, options);
  return 'level' in beside ? beside : weakFence(folders, isRoot, [`namespaces: ${launched.obstacle}`, `a container beside the worker: ${beside.obstacle}`]);
}

/** For the log and the doctor: `level A (no network, …)`. */
export function describeFence({ level, has, missing }: Pick<Fence, 'level' | 'has' | 'missing'>): string {
  return `level ${level} (${has.join(', ')}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''})`;
}

/** The first way that measures better than level C. */
async function probeLauncher(perl: string, isRoot: boolean): Promise<Fence | Obstacle> {
  const obstacles = new Set<string>();
  const groups = isRoot ? await findControlGroups({ memoryBytes: MEMORY_BYTES, processes: PROCESSES }) : undefined;
  for (const launching of await launchings({ perl, groups, isRoot })) {
    const measured = await measureFence([...launching.words([]), ...probeWords(engineSocket())], async (pid) => launching.groups?.remove(pid));
    const judged = 'obstacle' in measured ? measured : judgeFence(measured, launching.user, launching.groups !== undefined);
    if ('level' in judged && judged.level !== 'C') return launchedFence(launching, judged);
    obstacles.add('level' in judged ? `missing: ${judged.missing.join(', ')}` : judged.obstacle);
  }
  return { obstacle: [...obstacles].join('; ') || NOT_MADE_FOR };
}

function launchedFence(launching: Launching, judged: Judged): Fence {
  return {
    ...judged,
    command(script) {
      return [...launching.words([script]), '--', process.execPath, ...nodeFlags(script), script];
    },
    clean: async (pid) => launching.groups?.remove(pid),
  };
}

/** Where the worker may make no namespaces, a container engine may start a container beside it. */
export async function probeSiblings(perl: string, { script, engine = readEnvironment('DOCKER_HOST') }: FenceOptions): Promise<Fence | Obstacle> {
  const { PluginContainers } = await import('../../../sandbox/engine/docker/plugin-containers.ts');
  const containers = new PluginContainers(engine);
  const unreachable = await containers.sweep().then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  if (unreachable) return { obstacle: `the Docker engine cannot be used: ${unreachable.message}` };
  const obstacles = new Set<string>();
  for (const sibling of await siblings(perl, containers)) {
    const measured = await measureStarted(sibling.start(probeWords(engineSocket()), script));
    const judged = 'obstacle' in measured ? measured : judgeFence(measured, sibling.user, true);
    if ('level' in judged && judged.level !== 'C') return siblingFence(sibling, judged);
    obstacles.add('level' in judged ? `missing: ${judged.missing.join(', ')}` : judged.obstacle);
  }
  return { obstacle: [...obstacles].join('; ') || NOT_MADE_FOR };
}

function siblingFence(sibling: Sibling, judged: Judged): Fence {
  const command = (path: string): [string, ...string[]] => [process.execPath, ...nodeFlags(path), path];
  return {
    ...judged,
    has: ['a container of its own', ...judged.has],
    command,
    start: (path) => sibling.start(['--', ...command(path)], path),
    clean: async () => undefined,
  };
}

async function weakFence(folders: string[], isRoot: boolean, obstacles: string[]): Promise<Fence> {
  const [unshare, prlimit, sh, setpriv] = await Promise.all(['unshare', 'prlimit', 'sh', 'setpriv'].map((name) => find(name, folders)));
  const parts = await weakParts({ unshare, prlimit, sh, setpriv }, isRoot);
  const has = parts.map(({ gives }) => gives);
  return {
    level: 'C',
    has: [...has, MODEL],
    missing: ['files, sockets and processes of its own', ...[NETWORK, BOUNDS, OWN_USER].filter((name) => !has.includes(name))],
    obstacles,
    command(script) {
      const [program, ...args] = [...parts.flatMap(({ words }) => words), process.execPath, ...nodeFlags(script), script];
      return [program ?? process.execPath, ...args];
    },
    clean: async () => undefined,
  };
}

function engineSocket(): string | undefined {
  const host = readEnvironment('DOCKER_HOST');
  return host?.startsWith('unix://') ? host.slice('unix://'.length) : undefined;
}

function nodeFlags(script: string): string[] {
  // Node renamed the flag during version 22.
  const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
  return [permission, `--allow-fs-read=${script}`, '--no-warnings', '--no-deprecation', `--max-old-space-size=${HEAP_MEGABYTES}`];
}

async function find(name: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
