import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Makes a file that appears whole or not at all: `fill` writes it beside its place, and it is renamed from there. Others may do the same at once; the last one counts.
 * What fails leaves nothing behind.
 */
export async function placeWhole(path: string, fill: (beside: string) => Promise<void>): Promise<void> {
  // Not the name with something behind it: that may be longer than a name can be.
  const beside = join(dirname(path), `.${randomBytes(8).toString('hex')}.part`);
  try {
    await fill(beside);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** As `writeFile`, for a file that others may read meanwhile. */
export function writeWhole(path: string, content: string | Uint8Array, options: { mode?: number } = {}): Promise<void> {
  return placeWhole(path, (beside) => writeFile(beside, content, { ...options, flag: 'wx' }));
}
