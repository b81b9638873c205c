import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Memory of a process, what it shares with others counted in part. Of other users' processes only root is told. */
export async function proportionalSetSizeMib(pid: number | string): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
}

/** The same of one among several, which may end while they are looked at: it holds nothing then. */
export async function memoryUnlessEndedMib(pid: number | string): Promise<number> {
  try {
    return await proportionalSetSizeMib(pid);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH' || (code === 'ENOENT' && existsSync('/proc/self/smaps_rollup'))) return 0;
    throw error;
  }
}

/** Ids of the processes that a process has started and that still run. */
export async function childrenOf(pid: number | string): Promise<string[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ').filter((child) => child.trim() !== '');
}

/** The id of a process and those of all below it. */
export async function treeOf(pid: string): Promise<string[]> {
  const below = await Promise.all((await childrenOf(pid)).map(treeOf));
  return [pid, ...below.flat()];
}

/** Whether memory could not be read for want of rights, or of Linux. */
export function isHidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'ENOENT';
}
