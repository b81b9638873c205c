/**
 * Locks between processes. Our own: `proper-lockfile` goes by the time of a file, so it takes the lock of a suspended process, and keeps that of a killed one
 * until it is stale. This one goes by whether the process lives that made the lock, as its id and its start tell.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock, type LockGround } from './try-lock.ts';
import { readEnvironment } from './config.ts';
import { ensureOwnDirectory } from './own-path.ts';
import { isGone, nameProcess } from './process-identity.ts';

const POLL_MS = 250;
const EMPTY_MS = 5_000;

/**
 * A lock is a symbolic link that leads nowhere: unlike a file, it is made together with its text, which names the process. Versions before made a file and then
 * wrote the id of the process; a file that stays empty is of a process that was killed in between.
 */
const LINKS: LockGround = {
  make: (path, text) =>
    symlink(text, path).then(
      () => true,
      (error: unknown) => inCaseOf('EEXIST', error, () => false),
    ),
  read: (path) =>
    readlink(path)
      .catch((error: unknown) => inCaseOf('EINVAL', error, () => readFile(path, 'utf8')))
      .catch((error: unknown) => inCaseOf('ENOENT', error, () => undefined)),
  remove: (path) => rm(path, { force: true }),
  async isAbandoned(path, text) {
    if (text !== '') return await isGone(text.replace(/ .*/, ''));
    const made = await lstat(path).catch((error: unknown) => inCaseOf('ENOENT', error, () => undefined));
    // Also when the clock was set back since.
    return made !== undefined && Math.abs(Date.now() - made.mtimeMs) > EMPTY_MS;
  },
};

/**
 * Does work under a lock that processes of this machine share. The lock of a process that has died is taken over. All have to see the same processes (one pid
 * namespace). Only this user may write to its directory: another user could hold the lock for ever.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  await ensureOwnDirectory(dirname(file));
  // One process can ask for the same lock several times.
  const mine = `${await nameProcess(process.pid)} ${randomBytes(8).toString('hex')}`;
  while (!(await tryLock(LINKS, file, mine))) await sleep(POLL_MS, undefined, signal && { signal });
  try {
    return await work();
  } finally {
    await LINKS.remove(file);
  }
}

/** The path of a lock of this user. For resources that belong to no directory, such as images of the engine. */
export function userLock(name: string): string {
  return join(readEnvironment('LONGSHORE_HOME') ?? join(homedir(), '.cache', 'longshore'), 'locks', name);
}

function inCaseOf<T>(code: string, error: unknown, then: () => T): T {
  if ((error as NodeJS.ErrnoException).code === code) return then();
  throw error;
}
