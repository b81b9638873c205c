import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pack, type Pack } from 'tar-stream';
import { tarTime } from '../../../common/tar/tar-times.ts';
import { isSystemError } from './system-error.ts';
import { unlessClosed } from '../commands/unless-closed.ts';

const CHUNK_BYTES = 65_536;

/** A directory of this machine as a tar, produced at the pace of its reader. What cannot be read is reported to `onFailure`, and the rest continues. */
export function packLocal(root: string, onFailure: (path: string, problem: string) => void): AsyncIterable<Uint8Array> {
  const tar = pack();
  packBelow(tar, root, onFailure).then(
    () => tar.finalize(),
    (error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return tar as AsyncIterable<Uint8Array>;
}

async function packBelow(tar: Pack, root: string, onFailure: (path: string, problem: string) => void): Promise<void> {
  for (const waiting = ['']; waiting.length > 0;) {
    const directory = waiting.pop() ?? '';
    const names = await attempt(directory, onFailure, () => readdir(join(root, directory)));
    for (const name of (names ?? []).toSorted()) {
      const relative = directory === '' ? name : `${directory}/${name}`;
      if (tar.destroyed) return;
      if ((await attempt(relative, onFailure, () => packOne(tar, root, relative, onFailure))) === 'directory') waiting.push(relative);
    }
  }
}

async function packOne(tar: Pack, root: string, relative: string, onFailure: (path: string, problem: string) => void): Promise<'directory' | 'other'> {
  const path = join(root, relative);
  const status = await lstat(path);
  const header = { name: relative, mode: status.mode & 0o777, ...tarTime(status.mtime) };
  if (status.isDirectory()) {
    await new Promise<void>((resolve, reject) => tar.entry({ ...header, type: 'directory' }, (error) => (error ? reject(error) : resolve())));
    return 'directory';
  }
  if (!status.isFile()) {
    onFailure(relative, status.isSymbolicLink() ? 'is a link' : 'is not a regular file');
    return 'other';
  }
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    await packContent(
      tar,
      { ...header, size },
      (buffer) => file.read(buffer, 0, buffer.length),
      (problem) => onFailure(relative, `${problem}; the rest is zeros`),
    );
  } finally {
    await file.close();
  }
  return 'other';
}

/** Writes exactly as many bytes as the header says, even if the file grows or shrinks meanwhile, or cannot be read to its end. */
async function packContent(
  tar: Pack,
  header: { name: string; mode: number; mtime: Date; size: number },
  read: (buffer: Buffer) => Promise<{ bytesRead: number }>,
  onCutShort: (problem: string) => void,
): Promise<void> {
  let finished!: (error?: Error | null) => void;
  const done = new Promise<void>((resolve, reject) => (finished = (error) => (error ? reject(error) : resolve())));
  const entry = tar.entry(header, finished);
  done.catch(() => undefined);
  let cut = false;
  for (let left = header.size; left > 0;) {
    const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, left));
    const bytesRead = cut ? buffer.length : await countOf(read(buffer));
    if (typeof bytesRead === 'string' || bytesRead === 0) {
      cut = true;
      onCutShort(bytesRead || 'was cut short while it was read');
      continue;
    }
    left -= bytesRead;
    if (!entry.write(buffer.subarray(0, bytesRead))) await unlessClosed(tar, new Promise<void>((resolve) => entry.once('drain', () => resolve())));
    if (tar.destroyed) return;
  }
  entry.end(undefined);
  await unlessClosed(tar, done);
}

/** How much was read, or why nothing could be. */
async function countOf(read: Promise<{ bytesRead: number }>): Promise<number | string> {
  try {
    return (await read).bytesRead;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return `could not be read to its end (${error.message})`;
  }
}

async function attempt<T>(path: string, onFailure: (path: string, problem: string) => void, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    onFailure(path, error.message);
    return undefined;
  }
}
