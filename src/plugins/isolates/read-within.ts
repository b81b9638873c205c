import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { failure } from '../../contracts/errors.ts';

const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Reads a file that lies in one of the directories (or is one of the files) when all links are followed. What was opened is looked at again, so that a
 * link that is put there in between leads nowhere.
 * @throws FILE_FAILED for anything else, always in the same words, so that nobody learns what there is outside.
 */
export async function readWithin(prefixes: string[], path: string): Promise<Buffer> {
  const refusal = failure('FILE_FAILED', { path, problem: `is not readable for this plugin; it may read ${prefixes.join(', ') || 'no files'}` });
  if (!isAbsolute(path) || path.includes('\0')) throw refusal;
  const roots = await Promise.all(prefixes.map((prefix) => realpath(prefix).catch(() => undefined)));
  const isWithin = (real: string) => roots.some((root) => root !== undefined && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)));
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !isWithin(real)) throw refusal;
  // Not blocking: opening a pipe would wait for somebody to write to it.
  const opened = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
  if (!opened) throw refusal;
  await using file = opened;
  const behind = process.platform === 'linux' ? await realpath(`/proc/self/fd/${file.fd}`).catch(() => '') : real;
  const found = await file.stat();
  if (!isWithin(behind) || !found.isFile()) throw refusal;
  if (found.size > MAX_BYTES) throw failure('FILE_FAILED', { path, problem: `has ${found.size} bytes; plugins may read ${MAX_BYTES} at most` });
  return file.readFile();
}
