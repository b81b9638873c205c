import { constants } from 'node:fs';
import { lstat, mkdir, open, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { extract, type Header } from 'tar-stream';
import { timeIn } from '../../../common/tar/tar-times.ts';
import { placeWhole } from '../../../platform/place-whole.ts';
import { isSystemError } from './system-error.ts';
import { unlessClosed } from '../commands/unless-closed.ts';
import { writeSparse } from './write-sparse.ts';
import { failure } from '../../../contracts/errors.ts';

export interface Unpacker {
  /** Resolves when there is room for more. */
  write(chunk: Buffer): Promise<void>;
  end(): Promise<{ files: number; bytes: number; failures: { path: string; problem: string }[] }>;
  abandon(): void;
}

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const MAX_FAILURES = 10_000;

/**
 * Writes a tar from a guest below `root`. The tar is untrusted: only regular files and directories are written, never through a link, and at most `maxBytes`.
 */
export function createUnpacker(root: string, source: string, maxBytes: number): Unpacker {
  const tar = extract();
  const failures: { path: string; problem: string }[] = [];
  let files = 0;
  let bytes = 0;
  const finished = (async () => {
    for await (const entry of tar) {
      const { header } = entry;
      bytes += header.size ?? 0;
      if (bytes > maxBytes)
        throw failure('FILE_FAILED', {
          path: source,
          problem: `has more than ${maxBytes} bytes; allow more with maxBytes, or download its directories one by one`,
        });
      const problem = await writeEntry(root, header, entry as AsyncIterable<Buffer>);
      if (problem === undefined) files += header.type === 'file' ? 1 : 0;
      else if (failures.length < MAX_FAILURES) failures.push({ path: header.name, problem });
      else
        throw failure('FILE_FAILED', {
          path: source,
          problem: `more than ${MAX_FAILURES} of its files could not be written, the first is ${failures[0]?.path}, which ${failures[0]?.problem}`,
        });
      entry.resume();
    }
  })();
  finished.catch(() => undefined);
  return {
    async write(chunk) {
      if (!tar.write(chunk)) await unlessClosed(tar, new Promise<void>((resolve) => tar.once('drain', () => resolve())));
      // Throws the error that ended the stream.
      if (tar.destroyed) await finished;
    },
    async end() {
      tar.end(undefined);
      await finished;
      return { files, bytes, failures };
    },
    abandon: () => tar.destroy(),
  };
}

/** Returns what is wrong with an entry; undefined when it was written. */
async function writeEntry(root: string, header: Header, content: AsyncIterable<Buffer>): Promise<string | undefined> {
  const parts = header.name.split('/').filter((part) => part !== '' && part !== '.');
  if (header.name.startsWith('/') || parts.includes('..') || header.name.includes('\0')) return 'leads out of the directory';
  if (header.type !== 'file' && header.type !== 'directory') return 'is neither a file nor a directory';
  // Two such names may be the same one here.
  if (header.name.includes('\uFFFD')) return 'its name is not UTF-8';
  try {
    const name = header.type === 'file' ? parts.pop() : undefined;
    const directory = await makeDirectories(root, parts);
    if (directory === undefined) return 'a part of its path is a link or a file on this machine';
    if (name !== undefined) await writeNew(directory, name, header, content);
    return undefined;
  } catch (error) {
    if (isSystemError(error)) return error.message;
    throw error;
  }
}

/** Undefined when a part of the path exists and is not a directory. */
async function makeDirectories(root: string, parts: string[]): Promise<string | undefined> {
  let directory = root;
  for (const part of parts) {
    directory = join(directory, part);
    await mkdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (!(await lstat(directory)).isDirectory()) return undefined;
  }
  return directory;
}

async function writeNew(directory: string, name: string, header: Header, content: AsyncIterable<Buffer>): Promise<void> {
  await placeWhole(join(directory, name), async (beside) => {
    const file = await open(beside, NEW_FILE, 0o600);
    try {
      await writeSparse(file, content);
      await file.chmod(header.mode & 0o777);
    } finally {
      await file.close();
    }
    const mtime = timeIn(header);
    if (mtime) await utimes(beside, mtime, mtime);
  });
}
