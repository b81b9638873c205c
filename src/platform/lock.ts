/** Locks between processes. Our own: `proper-lockfile` goes by the time of a file, so it takes the lock of a suspended process, and keeps that of a killed one. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEnvironment } from './config.ts';
import { ensureOwnDirectory } from './own-path.ts';

const POLL_MS = 250;

/**
 * Does work under a lock that processes of this machine share. The lock is a file with the id of the process that holds it. The lock of a process that
 * has died is taken over. Only this user may write to its directory: another user could hold the lock for ever.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  await ensureOwnDirectory(dirname(file));
  while (!(await claim(file))) {
    if (await holderIsGone(file)) await rm(file, { force: true });
    else await sleep(POLL_MS, undefined, signal && { signal });
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** The path of a lock of this user. For resources that belong to no directory, such as images of the engine. */
export function userLock(name: string): string {
  return join(readEnvironment('LONGSHORE_HOME') ?? join(homedir(), '.cache', 'longshore'), 'locks', name);
}

/** True when a process with that id lives, also when another user owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function claim(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function holderIsGone(file: string): Promise<boolean> {
  const pid = Number(await readFile(file, 'utf8').catch(() => ''));
  // The file is empty when its holder has claimed it and has not written its id yet.
  return pid > 0 && !isAlive(pid);
}
