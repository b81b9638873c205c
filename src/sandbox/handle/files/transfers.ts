import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { placeWhole } from '../../../platform/place-whole.ts';
import { failure } from '../../../contracts/errors.ts';
import type { WorkingConnection, TransferEnd } from '../../protocol/supervisor-connection.ts';
import type { TransferProgress, TransferReport } from '../../api/files.ts';
import type { WorkerHandle } from '../../api/sandbox.ts';
import { packDirectory } from './pack-directory.ts';
import { packLocal } from './pack-local.ts';
import { PIECE_BYTES } from './pieces.ts';
import { isSystemError } from './system-error.ts';
import { writeSparse } from './write-sparse.ts';
import { createUnpacker, type Unpacker } from './unpack-local.ts';

const MAX_DOWNLOAD_BYTES = 16 * 1024 ** 3;
const MAX_FAILURES = 100;
const DEFAULT_MODE = 0o644;
/** The number of links that Linux follows. */
const MOST_LINKS = 40;

type Files = Pick<WorkerHandle, 'readFileStream' | 'writeFile'>;
type Transfers = Pick<WorkerHandle, 'uploadFile' | 'downloadFile' | 'uploadDirectory' | 'downloadDirectory' | 'packDirectory'>;

/** Transfers files and directories between this machine and the sandbox as streams, so that memory does not grow with their size. */
export function createTransfers(connection: WorkingConnection, files: Files): Transfers {
  return {
    async uploadFile(localPath, path, options = {}) {
      const status = await local(localPath, () => stat(localPath));
      if (!status.isFile())
        throw failure('FILE_FAILED', {
          path: localPath,
          problem: status.isDirectory() ? 'is a directory; give it to uploadDirectory' : 'is not a regular file',
        });
      const mode = options.mode ?? status.mode & 0o777;
      await local(localPath, () => files.writeFile(path, counted(wholeOf(localPath, status.size), options), { mode }));
    },
    downloadFile: async (path, localPath, options = {}) => downloadFile(files, path, localPath, { ...options, mode: await modeOf(connection, path) }),
    async uploadDirectory(localPath, path, options = {}) {
      const status = await local(localPath, () => stat(localPath));
      if (!status.isDirectory()) throw failure('FILE_FAILED', { path: localPath, problem: 'is not a directory; give a file to uploadFile' });
      let failures: TransferReport['failures'] = [];
      const end = await connection.unpackDirectory(path, () => {
        failures = [];
        return counted(
          packLocal(localPath, (failed, problem) => failures.push({ path: failed, problem })),
          options,
        );
      });
      return toReport(end, failures);
    },
    packDirectory: (path, onData) => packDirectory(connection, path, onData),
    async downloadDirectory(path, localPath, { maxBytes = MAX_DOWNLOAD_BYTES, onBytes } = {}) {
      await local(localPath, () => mkdir(localPath, { recursive: true }));
      let unpacker: Unpacker = createUnpacker(localPath, path, maxBytes);
      try {
        const end = await connection.packDirectory(path, {
          onData(chunk) {
            onBytes?.(chunk.length);
            return unpacker.write(chunk);
          },
          onRepeat() {
            unpacker.abandon();
            unpacker = createUnpacker(localPath, path, maxBytes);
          },
        });
        const { files: written, bytes, failures } = await unpacker.end();
        return toReport({ ...end, files: written, bytes }, failures);
      } catch (error) {
        unpacker.abandon();
        throw error;
      }
    },
  };
}

/** Reads a file of this machine in pieces. A file that shrinks or grows during the read is an error: the copy would be incomplete. */
async function* wholeOf(localPath: string, size: number): AsyncIterable<Uint8Array> {
  let read = 0;
  for await (const piece of createReadStream(localPath, { highWaterMark: PIECE_BYTES })) {
    read += (piece as Buffer).length;
    if (read > size) break;
    yield piece as Buffer;
  }
  if (read === size) return;
  const problem = `was changed while it was read: it had ${size} bytes, and ${read < size ? `only ${read}` : 'more'} could be read; nothing was written`;
  throw failure('FILE_FAILED', { path: localPath, problem });
}

/** Follows links: the mode is that of the target. */
async function modeOf(connection: WorkingConnection, path: string): Promise<number> {
  let place = path;
  for (let links = 0; links < MOST_LINKS; links += 1) {
    const info = await connection.fileInfo(place);
    if (info?.linkTarget === undefined) return (info?.mode ?? DEFAULT_MODE) & 0o777;
    place = posix.resolve(posix.dirname(info.path), info.linkTarget);
  }
  return DEFAULT_MODE;
}

/** Reports the size of each piece that passes. */
async function* counted(pieces: AsyncIterable<Uint8Array>, { onBytes }: TransferProgress): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) {
    onBytes?.(piece.length);
    yield piece;
  }
}

async function downloadFile(files: Files, path: string, localPath: string, options: TransferProgress & { mode: number }): Promise<void> {
  await local(localPath, async () => {
    await mkdir(dirname(localPath), { recursive: true });
    await placeWhole(localPath, async (beside) => {
      const file = await open(beside, 'wx', 0o644);
      try {
        // Keeps holes: a sparse file of the sandbox must not fill this machine's disk.
        await writeSparse(file, counted(files.readFileStream(path), options));
        await file.chmod(options.mode);
      } finally {
        await file.close();
      }
    });
  });
}

function toReport(end: TransferEnd, ours: TransferReport['failures']): TransferReport {
  const theirs = (end.paths ?? []).map((path, index) => ({ path, problem: end.problems?.[index] ?? '' }));
  return { files: end.files, bytes: end.bytes, failures: [...ours, ...theirs].slice(0, MAX_FAILURES), failed: end.failed + ours.length };
}

/** Translates errors of this machine's file system into errors of the table. */
async function local<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw error.code === 'ENOENT' ? failure('FILE_NOT_FOUND', { path }, error) : failure('FILE_FAILED', { path, problem: error.message }, error);
  }
}
