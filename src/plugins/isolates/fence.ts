import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment } from '../../config.ts';
import { judge, MODEL, NETWORK, type FenceLevel, type Judged } from './fence-parts.ts';
import { findControlGroups } from './launcher/control-groups.ts';
import { launchings, type Launching } from './launcher/launcher.ts';
import { measure, measureStarted, probeWords } from './launcher/measure.ts';
import { siblings, type Sibling } from './launcher/sibling.ts';
import { BOUNDS, MEMORY_BYTES, PROCESSES } from './limits.ts';
import { OWN_USER } from './own-user.ts';
import { weakParts } from './weak-fence.ts';

export type { FenceLevel } from './fence-parts.ts';

/** The part of a child process that is used of one behind a fence. */
export type FencedProcess = Pick<ChildProcessWithoutNullStreams, 'pid' | 'stdin' | 'stdout' | 'stderr' | 'kill' | 'once'>;

export interface Fence {
  level: FenceLevel;
  /** Its parts, in words. */
  has: string[];
  missing: string[];
  /** The command that runs a script inside. The process that it becomes ends with the script, and takes it along when it is killed. */
  command(script: string): [program: string, ...args: string[]];
  /** Starts it where that takes more than the command. */
  start?(script: string): FencedProcess;
  /** Removes what the end of the process with this id leaves on the machine. */
  clean(pid: number): Promise<void>;
}

export interface FenceOptions {
  /** What will be run, where that is known: a container is tried with an image that has it. */
  script?: string;
  /** As in `DOCKER_HOST`, which is the default. */
  engine?: string | undefined;
}

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const HEAP_MEGABYTES = 128;

/**
 * Tries what this machine offers: each candidate from inside, by doing what must not be possible. Takes some ten milliseconds.
 * @param folders where its programs are.
 */
export async function probeFence(folders: string[] = FOLDERS, options: FenceOptions = {}): Promise<Fence> {
  const isRoot = process.getuid?.() === 0;
  const perl = process.platform === 'linux' ? await find('perl', folders) : undefined;
  if (perl === undefined) return weakFence(folders, isRoot);
  return (await probeLauncher(perl, isRoot)) ?? (await probeSiblings(perl, options)) ?? weakFence(folders, isRoot);
}

/** For the log and the doctor: `level A (no network, …)`. */
export function describeFence({ level, has, missing }: Pick<Fence, 'level' | 'has' | 'missing'>): string {
  return `level ${level} (${has.join(', ')}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''})`;
}

/** The first way whose measure holds the machine apart. */
async function probeLauncher(perl: string, isRoot: boolean): Promise<Fence | undefined> {
  const groups = isRoot ? await findControlGroups({ memoryBytes: MEMORY_BYTES, processes: PROCESSES }) : undefined;
  for (const launching of await launchings({ perl, groups, isRoot })) {
    const measured = await measure([...launching.words([]), ...probeWords(engineSocket())], async (pid) => launching.groups?.remove(pid));
    const judged = measured && judge(measured, launching.user, launching.groups !== undefined);
    if (judged && judged.level !== 'C') return launchedFence(launching, judged);
  }
  return undefined;
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

/** Where the worker may make no namespaces, an engine may make a container beside it. */
export async function probeSiblings(perl: string, { script, engine = readEnvironment('DOCKER_HOST') }: FenceOptions): Promise<Fence | undefined> {
  const { PluginContainers } = await import('../../sandbox/docker/plugin-containers.ts');
  const containers = new PluginContainers(engine);
  const reachable = await containers.sweep().then(
    () => true,
    () => false,
  );
  if (!reachable) return undefined;
  for (const sibling of await siblings(perl, containers)) {
    const measured = await measureStarted(sibling.start(probeWords(engineSocket()), script));
    const judged = measured && judge(measured, sibling.user, true);
    if (judged && judged.level !== 'C') return siblingFence(sibling, judged);
  }
  return undefined;
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

async function weakFence(folders: string[], isRoot: boolean): Promise<Fence> {
  const [unshare, prlimit, sh, setpriv] = await Promise.all(['unshare', 'prlimit', 'sh', 'setpriv'].map((name) => find(name, folders)));
  const parts = await weakParts({ unshare, prlimit, sh, setpriv }, isRoot);
  const has = parts.map(({ gives }) => gives);
  return {
    level: 'C',
    has: [...has, MODEL],
    missing: ['files, sockets and processes of its own', ...[NETWORK, BOUNDS, OWN_USER].filter((name) => !has.includes(name))],
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
  // Renamed within the life of Node 22.
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
