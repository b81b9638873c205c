import { readFile } from 'node:fs/promises';

/** How many files and connections this process may have open; undefined where the system does not tell. */
export async function mostOpenFiles(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
