import { once } from 'node:events';
import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { deferred } from '../../common/deferred.ts';
import { tarTime } from '../../common/tar/tar-times.ts';
import { pack, type Header, type Pack } from 'tar-stream';

/** An archive that is written at the pace of its reader. */
export interface ArchiveWriter {
  /** The content is as long as the header says. */
  add(header: Partial<Header> & { name: string; size: number }, content: AsyncIterable<Uint8Array>): Promise<void>;
  addText(name: string, text: string, mtime: Date): Promise<void>;
  addBytes(name: string, bytes: Buffer, mtime: Date): Promise<void>;
}

/** The bytes of a `.tar.gz` that `write` fills. `signal` aborts when nobody reads it any more. */
export function createArchive(write: (archive: ArchiveWriter) => Promise<void>, stop: AbortController): Readable {
  const tar = pack();
  const gzip = createGzip();
  pipeline(tar, gzip, () => stop.abort());
  gzip.once('close', () => stop.abort());
  const archive = writerOf(tar, stop.signal);
  write(archive).then(
    () => tar.finalize(),
    (error: unknown) => gzip.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return gzip;
}

function writerOf(tar: Pack, signal: AbortSignal): ArchiveWriter {
  const aborted = once(signal, 'abort').then(() => new Error('nobody reads the archive any more'));
  const add: ArchiveWriter['add'] = async (header, content) => {
    signal.throwIfAborted();
    const written = deferred<Error | undefined>();
    const entry = tar.entry({ ...header, ...(header.mtime && tarTime(header.mtime)) }, (error) => written.resolve(error ?? undefined));
    // It gets the error of the archive, too.
    entry.on('error', (error) => written.resolve(error));
    let size = 0;
    for await (const piece of content) {
      size += piece.length;
      if (size > header.size) throw new Error(`${header.name} is longer than it was a moment ago`);
      if (!entry.write(piece)) await once(entry as unknown as NodeJS.EventEmitter, 'drain', { signal });
    }
    if (size !== header.size) throw new Error(`${header.name} is shorter than it was a moment ago`);
    entry.end(undefined);
    const problem = await Promise.race([written.promise, aborted]);
    if (problem) throw problem;
  };
  const addBytes: ArchiveWriter['addBytes'] = (name, bytes, mtime) => add({ name, size: bytes.length, mtime, mode: 0o644 }, piecesOf(bytes));
  return { add, addBytes, addText: (name, text, mtime) => addBytes(name, Buffer.from(text), mtime) };
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** The content of a directory. */
export async function* nothing(): AsyncGenerator<Uint8Array> {}
