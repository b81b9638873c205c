import { readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEnvironment } from './config.ts';
import { ensureOwnDirectory } from './own-path.ts';

const POLL_MS = 250;

/**
 * Does work under a lock that processes of this machine share. The lock is a file that names its holder; the lock of a process that
 * has died is taken over. Another user could hold it for ever, so its directory has to be this user's alone.
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

/** The file of a lock of this user, for what is no directory's: images of the engine. */
export function userLock(name: string): string {
  return join(readEnvironment('LONGSHORE_HOME') ?? join(homedir(), '.cache', 'longshore'), 'locks', name);
}

/** True when a process of that id lives, whoever owns it. */
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
  // An empty file is one whose holder has claimed it and not yet written its id.
  return pid > 0 && !isAlive(pid);
}
