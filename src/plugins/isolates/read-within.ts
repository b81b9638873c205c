import { realpath } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { failure } from '../../contracts/errors.ts';
import { isKernelPlace, readRealFile } from '../files/read-real-file.ts';

const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Reads a file that is in one of the directories (or is one of the files) after all links are resolved. The opened file is checked again, so that a link that
 * was replaced after the first check has no effect.
 * @throws FILE_FAILED for anything else. The message does not show whether a file outside exists, except in /proc, /sys and /dev.
 */
export async function readWithin(prefixes: string[], path: string): Promise<Buffer> {
  const refusal = failure('FILE_FAILED', { path, problem: `is not readable for this plugin; it may read ${prefixes.join(', ') || 'no files'}` });
  if (!isAbsolute(path) || path.includes('\0')) throw refusal;
  const roots = await Promise.all(prefixes.map((prefix) => realpath(prefix).catch(() => undefined)));
  const isWithin = (real: string) => roots.some((root) => root !== undefined && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)));
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) throw refusal;
  if (isKernelPlace(real)) throw failure('FILE_FAILED', { path, problem: 'lies in /proc, /sys or /dev, of which plugins may read nothing' });
  const found = await readRealFile(real, isWithin, MAX_BYTES);
  if ('content' in found) return found.content;
  if (found.problem === 'too large') throw failure('FILE_FAILED', { path, problem: `has ${found.size} bytes; plugins may read ${MAX_BYTES} at most` });
  throw refusal;
}
