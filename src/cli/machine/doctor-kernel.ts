import { readFile } from 'node:fs/promises';
import type { DoctorLine } from './doctor-line.ts';

const ENOUGH = 1_000_000_000;
/** Limits that the guests of a host share under runc. With these values, what a guest takes of them is bounded by the memory of its sandbox. */
const SHARED: Record<string, (value: number) => boolean> = {
  'fs.epoll.max_user_watches': (value) => value >= ENOUGH,
  'fs.inotify.max_user_instances': (value) => value >= ENOUGH,
  'fs.inotify.max_user_watches': (value) => value >= ENOUGH,
  'fs.pipe-user-pages-soft': (value) => value === 0,
};

/** Limits of the kernel of this machine that one guest may use up for others. Nothing where they cannot be read. */
export async function kernelLines(read: (name: string) => Promise<string> = readSetting): Promise<DoctorLine[]> {
  const values = await Promise.all(
    Object.entries(SHARED).map(async ([name, isEnough]) => {
      const text = await read(name).catch(() => '');
      return text.trim() === '' || isEnough(Number(text)) ? [] : [`${name} is ${text.trim()}`];
    }),
  );
  const low = values.flat();
  if (low.length === 0) return [];
  return [
    {
      name: 'Kernel limits',
      ok: 'warning',
      found: `sandboxes of this host share them under runc, so one can use them up: ${low.join(', ')}`,
      todo: 'Optional: raise them, or run guests that you do not trust with runtime: runsc; see docs/guides/sandbox.md, "What sandboxes of one host share"',
    },
  ];
}

function readSetting(name: string): Promise<string> {
  return readFile(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8');
}
