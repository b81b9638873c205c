import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { failure } from '../../contracts/errors.ts';
import { Meter, whenRead, type BlobStore } from './blob-store.ts';

/** Ending of a file that is being written. */
const PARTIAL = '.partial';

/** Blobs as files of a directory that all hosts share. A file gets its name only when it is complete and on disk. */
export function createDirectoryBlobs({
  directory,
  newBlobId,
  owns,
}: {
  directory: string;
  newBlobId: () => string;
  owns: (blobId: string) => boolean;
}): BlobStore {
  const fileOf = (blobId: string) => join(directory, blobId);
  const remove = async (blobId: string) => {
    await mapped(blobId, async () => {
      await rm(fileOf(blobId), { force: true });
      await rm(fileOf(blobId) + PARTIAL, { force: true });
    });
  };
  return {
    async put(content) {
      const blobId = newBlobId();
      const meter = new Meter();
      try {
        await mapped(blobId, async () => {
          await mkdir(directory, { recursive: true, mode: 0o700 });
          await pipeline(
            content,
            (source: AsyncIterable<Buffer>) => meter.through(source),
            createWriteStream(fileOf(blobId) + PARTIAL, { mode: 0o600, flush: true }),
          );
          await rename(fileOf(blobId) + PARTIAL, fileOf(blobId));
          await syncDirectory(directory);
        });
      } catch (error) {
        await remove(blobId).catch(() => undefined);
        throw error;
      }
      return { blobId, bytes: meter.bytes, sha256: meter.sha256() };
    },
    get: (blobId) => whenRead(() => readable(blobId, fileOf(blobId))),
    remove,
    list: () =>
      mapped('the list', async () => {
        const names = (await readdir(directory).catch(ignoringAbsence<string[]>([]))).filter((name) => owns(name));
        const listed = await Promise.all(
          names.map(async (name) => {
            const found = await stat(fileOf(name)).catch(ignoringAbsence(undefined));
            return found && { blobId: name.endsWith(PARTIAL) ? name.slice(0, -PARTIAL.length) : name, createdAtMs: found.mtimeMs };
          }),
        );
        return listed.filter((blob) => blob !== undefined);
      }),
  };
}

function readable(blobId: string, file: string): Readable {
  const passed = new PassThrough();
  const source = createReadStream(file);
  source.once('error', (error) => passed.destroy(toFailure(blobId, error) as Error));
  passed.once('close', () => source.destroy());
  return source.pipe(passed);
}

/** A file's name is on disk only after its directory was synced. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoringAbsence<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
}

async function mapped<T>(blobId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(blobId, error);
  }
}

/** Errors of the stream that is being stored are passed on unchanged: they are not errors of the store. */
function toFailure(blobId: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  return code === 'ENOENT' ? failure('BLOB_NOT_FOUND', { blobId }, error) : failure('BLOB_FAILED', { blobId, problem: message }, error);
}
