import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { BOUNDS, limits } from './limits.ts';
import { OWN_USER, ownUser, sameUser, SHARED_USER, type Prefix } from './own-user.ts';

/**
 * How far a plugin's process is shut in. `A`: no network, a user of its own, limits of memory and files, Node's permission model. `B`: without one of the
 * first two. `C`: Node's permission model, which holds against mistakes more than against attacks.
 */
export type FenceLevel = 'A' | 'B' | 'C';

export interface Fence {
  level: FenceLevel;
  /** Its parts, in words. */
  has: string[];
  missing: string[];
  /** The command that runs a script inside; it replaces itself, so that its process id is that of the script. */
  command(script: string): [program: string, ...args: string[]];
}

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const PROBE_TIMEOUT_MS = 5_000;
const HEAP_MEGABYTES = 128;
const NETWORK = 'no network';

/**
 * Tries what this machine offers; takes some milliseconds.
 * @param folders where its programs are.
 */
export async function probeFence(folders: string[] = FOLDERS): Promise<Fence> {
  const root = process.getuid?.() === 0;
  const [unshare, prlimit, sh, setpriv] = await Promise.all(['unshare', 'prlimit', 'sh', 'setpriv'].map((name) => find(name, folders)));
  /** In the order in which they run; of each the better candidates first. */
  const parts: Prefix[][] = [
    unshare ? [{ gives: NETWORK, words: [unshare, ...(root ? [] : ['--user']), '--net', '--ipc', '--'] }] : [],
    limits({ prlimit, sh }, root),
    setpriv ? [...(root && sh ? await ownUser(sh, setpriv) : []), sameUser(setpriv)] : [],
  ];
  const working = (await Promise.all(parts.map(firstWorking))).filter((prefix) => prefix !== undefined);
  const has = working.map(({ gives }) => gives);
  return {
    level: levelOf(has),
    has: [...has, "Node's permission model"],
    missing: [NETWORK, BOUNDS, OWN_USER].filter((name) => !has.includes(name)),
    command(script) {
      const [program, ...args] = [...working.flatMap(({ words }) => words), process.execPath, ...nodeFlags(script), script];
      return [program ?? process.execPath, ...args];
    },
  };
}

/** For the log and the doctor: `level A (no network, …)`. */
export function describeFence({ level, has, missing }: Fence): string {
  return `level ${level} (${has.join(', ')}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''})`;
}

function levelOf(has: string[]): FenceLevel {
  const [network, limits, user, shared] = [NETWORK, BOUNDS, OWN_USER, SHARED_USER].map((name) => has.includes(name));
  if (network && limits && user) return 'A';
  return limits && (network || user || shared) ? 'B' : 'C';
}

function nodeFlags(script: string): string[] {
  // Renamed within the life of Node 22.
  const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
  return [permission, `--allow-fs-read=${script}`, '--no-warnings', '--no-deprecation', `--max-old-space-size=${HEAP_MEGABYTES}`];
}

async function firstWorking(candidates: Prefix[]): Promise<Prefix | undefined> {
  for (const candidate of candidates) {
    const [program = '', ...args] = candidate.words;
    if (await succeeds(program, [...args, '/bin/true'])) return candidate;
  }
  return undefined;
}

function succeeds(program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_TIMEOUT_MS, env: {} }, (error) => resolve(error === null));
  });
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
