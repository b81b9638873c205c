import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** What was put, so that whoever gets it back can tell whether it is whole. */
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
 * Keeps long streams of bytes. Both ways are streamed with back-pressure: no more than a few megabytes are in memory at once.
 * Errors are `BLOB_NOT_FOUND` and `BLOB_FAILED`; those of Postgres are as everywhere.
 */
export interface BlobStore {
  /** Stores what the stream gives, under an id of its own. When the stream fails, nothing is kept and its error is passed on. */
  put(content: Readable): Promise<StoredBlob>;
  /** Its bytes; the stream fails with `BLOB_NOT_FOUND` when there are none. */
  get(blobId: string): Readable;
  /** Done as well when there is no such blob. Removes half a blob, too. */
  remove(blobId: string): Promise<void>;
  /** Ids and ages of all blobs of this store, those included that are being put or were cut off. */
  list(): Promise<ListedBlob[]>;
}

/** Counts and hashes the bytes of a stream on their way. */
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

  /** To be asked once, after the end. */
  sha256(): string {
    return this.#hash.digest('hex');
  }
}

/** The stream cut into pieces of one size; the last may be smaller, and an empty stream gives none. */
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
