import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { placeWhole } from '../platform/place-whole.ts';

/** Copies a program into a cache atomically: a program in the cache is always complete. */
export async function installProgram(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await placeWhole(to, async (beside) => {
    await copyFile(from, beside);
    await chmod(beside, 0o755);
  });
}
