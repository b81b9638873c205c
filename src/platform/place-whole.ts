import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Makes a file atomically: `fill` writes a temporary file in the same directory, which is then renamed. Several processes may do this at the same time; the
 * last rename wins. A failure leaves no file behind.
 */
export async function placeWhole(path: string, fill: (beside: string) => Promise<void>): Promise<void> {
  // A random name: the given name with a suffix could exceed the longest name that the file system permits.
  const beside = join(dirname(path), `.${randomBytes(8).toString('hex')}.part`);
  try {
    await fill(beside);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** Like `writeFile`, but atomic: a process that reads the file at the same time sees the old or the new content. */
export function writeWhole(path: string, content: string | Uint8Array, options: { mode?: number } = {}): Promise<void> {
  return placeWhole(path, (beside) => writeFile(beside, content, { ...options, flag: 'wx' }));
}
