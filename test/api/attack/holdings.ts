import { readdir, readFile } from 'node:fs/promises';

/** What a process holds. */
export interface Holdings {
  memoryMib: number;
  descriptors: number;
}

export async function holdingsOf(pid: number): Promise<Holdings> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]);
  return { memoryMib: kib / 1024, descriptors: (await readdir(`/proc/${pid}/fd`)).length };
}
