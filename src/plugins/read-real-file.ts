import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';

export type ReadFile = { content: Buffer } | { problem: 'refused' } | { problem: 'too large'; size: number };

/**
 * Reads a regular file by its real path. What was opened is checked once more, so a link that takes the file's place between the check and the opening
 * leads nowhere.
 * @param isAllowed says whether a real path may be read
 */
export async function readRealFile(real: string, isAllowed: (real: string) => boolean, maxBytes: number): Promise<ReadFile> {
  if (!isAllowed(real)) return { problem: 'refused' };
  // Not blocking: opening a pipe would wait for a writer.
  const opened = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
  if (!opened) return { problem: 'refused' };
  await using file = opened;
  const behind = process.platform === 'linux' ? await realpath(`/proc/self/fd/${file.fd}`).catch(() => '') : real;
  const found = await file.stat();
  if (!isAllowed(behind) || !found.isFile()) return { problem: 'refused' };
  if (found.size > maxBytes) return { problem: 'too large', size: found.size };
  // A file may grow while it is read, and files of the kernel claim to have no bytes.
  const content = Buffer.alloc(found.size);
  const { bytesRead } = await file.read(content, 0, found.size, 0);
  return { content: content.subarray(0, bytesRead) };
}
