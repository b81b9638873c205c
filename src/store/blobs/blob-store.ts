import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';

/** Size and hash of stored bytes, with which a reader can check that they are complete. */
export interface StoredBlob {
  blobId: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}
export interface ListedBlob {
  blobId: string;
  createdAtMs: number;
}

/**
 * Stores long streams of bytes. Both directions are streamed with back-pressure: no more than a few megabytes are in memory at once.
 * Errors are `BLOB_NOT_FOUND` and `BLOB_FAILED`, besides the usual errors of Postgres.
 */
export interface BlobStore {
  /** Stores the content of the stream under a new id. When the stream fails, nothing is kept and its error is passed on. */
  put(content: Readable): Promise<StoredBlob>;
  /** Its bytes; the stream fails with `BLOB_NOT_FOUND` when the blob does not exist. Nothing happens before it is read, so one that is not read need not be closed. */
  get(blobId: string): Readable;
  /** Removes a blob, complete or not. Succeeds also when the blob does not exist. */
  remove(blobId: string): Promise<void>;
  /** Ids and ages of all blobs of this store, including those that are being written or were interrupted. */
  list(): Promise<ListedBlob[]>;
}

/** A stream that is opened when it is first read: before that, nothing would hear of its error, which would end the process, and nothing would close it. */
export function whenRead(open: () => Readable): Readable {
  return Readable.from(through(open), { objectMode: false });
}

async function* through(open: () => Readable): AsyncGenerator<Buffer> {
  yield* open() as AsyncIterable<Buffer>;
}

/** Counts and hashes the bytes of a stream that passes through. */
export class Meter {
  readonly #hash = createHash('sha256');
  bytes = 0;

  async *through(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      this.#hash.update(chunk);
      this.bytes += chunk.length;
      yield chunk;
    }
  }

  /** May be called once, after the end. */
  sha256(): string {
    return this.#hash.digest('hex');
  }
}

/** Splits the stream into pieces of one size; the last may be smaller, and an empty stream has none. */
export async function* inPieces(content: AsyncIterable<Buffer>, pieceBytes: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let filled = 0;
  for await (const chunk of content) {
    for (let rest = chunk; rest.length > 0;) {
      const taken = rest.subarray(0, pieceBytes - filled);
      parts.push(taken);
      filled += taken.length;
      rest = rest.subarray(taken.length);
      if (filled < pieceBytes) continue;
      yield Buffer.concat(parts, filled);
      parts = [];
      filled = 0;
    }
  }
  if (filled > 0) yield Buffer.concat(parts, filled);
}
