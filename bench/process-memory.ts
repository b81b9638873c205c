import { readFile } from 'node:fs/promises';

/** Memory of a process, what it shares with others counted in part. Of other users' processes only root is told. */
export async function proportionalSetSizeMib(pid: number | string): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
}

/** Whether memory could not be read for want of rights, or of Linux. */
export function isHidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'ENOENT';
}
