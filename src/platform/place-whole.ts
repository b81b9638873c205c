import { randomBytes } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Makes a file atomically: `fill` writes a temporary file in the same directory, which is then renamed. Several processes may do this at the same time; the
 * last rename wins. A failure leaves no file behind. What is no file, such as `/dev/null`, is refused: it would be replaced for all programs.
 */
export async function placeWhole(path: string, fill: (beside: string) => Promise<void>): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there && !there.isFile() && !there.isDirectory())
    throw Object.assign(new Error('it is a device, a pipe or a socket'), { code: 'EINVAL', syscall: 'rename', path });
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
