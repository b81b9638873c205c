import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

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
/** Node 24 reserves much address space for its code at the start and fails with less. */
const MEGABYTES = nodeMajor() >= 23 ? 768 : 256;
const HEAP_MEGABYTES = 128;
/** Users that no account of a machine has by convention; systemd takes its short-lived ones from there. */
const [FIRST_USER, LAST_USER] = [61_184, 65_519];
const LIMITS = [`--data=${MEGABYTES * 1024 * 1024}`, '--core=0', '--nofile=64', '--fsize=0'];
const POWERS = ['--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--pdeathsig=KILL'];

type Prefix = () => string[];
interface Part {
  name: string;
  /** Candidates, the better first. */
  prefixes: Prefix[];
}

/** Tries what this machine offers; takes some milliseconds. */
export async function probeFence(): Promise<Fence> {
  const root = process.getuid?.() === 0;
  const [unshare, prlimit, setpriv] = await Promise.all(['unshare', 'prlimit', 'setpriv'].map(find));
  const parts: Part[] = [
    { name: 'no network', prefixes: unshare ? (root ? [[]] : [['--user']]).map((more) => () => [unshare, ...more, '--net', '--ipc', '--']) : [] },
    {
      name: 'limits of memory and files',
      // The number of processes is counted per user, so it can only be limited where the user is its own.
      prefixes: prlimit ? [() => [prlimit, ...LIMITS, ...(root ? ['--nproc=64'] : []), '--']] : [],
    },
    {
      name: 'a user of its own',
      prefixes: setpriv && root ? [() => [setpriv, ...ownUser(), ...POWERS, '--']] : [],
    },
  ];
  const working = await Promise.all(parts.map(({ prefixes }) => firstWorking(prefixes)));
  const has = parts.filter((_, index) => working[index]).map(({ name }) => name);
  const missing = parts.filter((_, index) => !working[index]).map(({ name }) => name);
  return {
    level: levelOf(has),
    has: [...has, "Node's permission model"],
    missing,
    command(script) {
      const [program, ...args] = [...working.flatMap((prefix) => prefix?.() ?? []), process.execPath, ...nodeFlags(script), script];
      return [program ?? process.execPath, ...args];
    },
  };
}

/** For the log and the doctor: `level A (no network, …)`. */
export function describeFence({ level, has, missing }: Fence): string {
  return `level ${level} (${has.join(', ')}${missing.length > 0 ? `; missing: ${missing.join(', ')}` : ''})`;
}

function levelOf(has: string[]): FenceLevel {
  const [network, limits, user] = ['no network', 'limits of memory and files', 'a user of its own'].map((name) => has.includes(name));
  if (network && limits && user) return 'A';
  return limits && (network || user) ? 'B' : 'C';
}

function ownUser(): string[] {
  const user = randomInt(FIRST_USER, LAST_USER + 1);
  return [`--reuid=${user}`, `--regid=${user}`];
}

function nodeFlags(script: string): string[] {
  // Renamed within the life of Node 22.
  const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
  return [permission, `--allow-fs-read=${script}`, '--no-warnings', '--no-deprecation', `--max-old-space-size=${HEAP_MEGABYTES}`];
}

async function firstWorking(prefixes: Prefix[]): Promise<Prefix | undefined> {
  for (const prefix of prefixes) {
    const [program = '', ...args] = prefix();
    if (await succeeds(program, [...args, '/bin/true'])) return prefix;
  }
  return undefined;
}

function succeeds(program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_TIMEOUT_MS, env: {} }, (error) => resolve(error === null));
  });
}

async function find(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

function nodeMajor(): number {
  return Number(process.versions.node.split('.')[0]);
}
