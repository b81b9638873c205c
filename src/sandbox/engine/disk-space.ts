import { statfs } from 'node:fs/promises';
import type { DiskSpace } from './engine.ts';

/** What the file system of a directory has, and what is free of it for programs without special rights. Undefined where this process does not see the directory. */
export async function diskSpaceOf(directory: string): Promise<DiskSpace | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(directory);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
