import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { userInfo } from 'node:os';
import { failure } from '../../../contracts/errors.ts';
import { isReachable } from '../../../platform/is-reachable.ts';
import { mustRun } from '../../../platform/run-command.ts';
import { ensureOwnDirectory } from '../../../platform/own-path.ts';
import { removeTree } from './remove-tree.ts';

/** The user that the processes of a sandbox run as. */
export interface GuestUser {
  uid: number;
  gid: number;
}

/** Used only by root: the users of sandboxes cannot reach root's home directory. */
const PUBLIC_PLACE = '/var/lib/longshore';
const LONGSHORE = fileURLToPath(new URL('../../supervisor', import.meta.url));
/** Ids far above those of a machine's accounts. For user namespaces with fewer ids: the ids that systemd uses for dynamic users. */
const RANGES = [
  { first: 1_100_000_000, count: 800_000_000 },
  { first: 61_184, count: 4336 },
];

/** The directory of the files of guests: `root`, or, when this process is root, a public place that its guests' users can reach. */
export function guestDirectory(root: string): string {
  if (!isRoot()) return root;
  return join(PUBLIC_PLACE, `local-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`);
}

/** This process's user, or, when this process is root, an unprivileged user of the volume. */
export async function guestUser(volume: string): Promise<GuestUser> {
  const { uid, gid } = userInfo();
  if (uid !== 0) return { uid, gid };
  // Each line has the first id inside the namespace, the first id outside, and the count.
  const mapped = (await readFile('/proc/self/uid_map', 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const range = RANGES.find(({ first, count }) => mapped.some(([from = 0, , size = 0]) => from <= first && first + count <= from + size));
  if (!range)
    throw failure('CONFIG_INVALID', {
      name: 'LONGSHORE_SANDBOX_BACKEND',
      problem: 'this is root of a user namespace without unprivileged users, and "local" runs no commands as root',
      fix: 'Run Longshore as another user, or use "docker"',
    });
  const id = range.first + (createHash('sha256').update(volume).digest().readUInt32BE(0) % range.count);
  return { uid: id, gid: id };
}

/** Makes the directory of a volume, with a home that belongs to its guest. An existing home with another owner is given to the guest, with all files in it. */
export async function makeGuestHome(directory: string, { uid, gid }: GuestUser): Promise<string> {
  const home = join(directory, 'home');
  if (!isRoot()) {
    await mkdir(home, { recursive: true });
    return home;
  }
  if (!(await isReachable(LONGSHORE)))
    throw failure('CONFIG_INVALID', {
      name: 'LONGSHORE_SANDBOX_BACKEND',
      problem: `"local" runs no commands as root, and other users cannot reach Longshore's own files in ${LONGSHORE}`,
      fix: 'Run Longshore as another user, install it where all users can read it, or use "docker"',
    });
  await ensureOwnDirectory(PUBLIC_PLACE);
  await chmod(PUBLIC_PLACE, 0o755);
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await mkdir(home, { recursive: true, mode: 0o755 });
  if ((await stat(home)).uid === uid) return home;
  await mustRun('Giving a sandbox its files', 'chown', ['-R', '-h', '-P', `${uid}:${gid}`, home], { fix: `Look at ${home}` });
  return home;
}

export async function removeGuestFiles(directory: string): Promise<void> {
  if (isRoot()) await removeTree(directory);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}
