import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { failure } from '../../contracts/errors.ts';
import type { Database } from '../database/database.ts';
import { inPieces, Meter, type BlobStore } from './blob-store.ts';

const CHUNK_BYTES = 1024 * 1024;

const PUT_CHUNK = 'insert into blob_chunks (blob_id, position, data) values ($1, $2, $3)';
const GET_CHUNK = 'select data from blob_chunks where blob_id = $1 and position = $2';

/** Blobs as rows of one megabyte. The blob's own row is written first, so that `list` finds what a crash leaves. */
export function createPostgresBlobs({ database, newBlobId }: { database: Database; newBlobId: () => string }): BlobStore {
  const remove = async (blobId: string) => {
    await database.query('blobs.remove', 'delete from blobs where blob_id = $1', [blobId]);
  };
  return {
    async put(content) {
      const blobId = newBlobId();
      const meter = new Meter();
      await database.query('blobs.insert', 'insert into blobs (blob_id) values ($1)', [blobId]);
      try {
        await pipeline(content, async (source: AsyncIterable<Buffer>) => {
          let position = 0;
          for await (const piece of inPieces(meter.through(source), CHUNK_BYTES)) {
            await database.query('blobs.putChunk', PUT_CHUNK, [blobId, position, piece]);
            position += 1;
          }
        });
      } catch (error) {
        await remove(blobId).catch(() => undefined);
        throw error;
      }
      return { blobId, bytes: meter.bytes, sha256: meter.sha256() };
    },
    get: (blobId) => Readable.from(chunksOf(database, blobId), { objectMode: false }),
    remove,
    async list() {
      const rows = await database.query<{ blob_id: string; created_at: Date }>('blobs.list', 'select blob_id, created_at from blobs', []);
      return rows.map((row) => ({ blobId: row.blob_id, createdAtMs: row.created_at.getTime() }));
    },
  };
}

async function* chunksOf(database: Database, blobId: string): AsyncGenerator<Buffer> {
  const found = await database.query('blobs.find', 'select 1 from blobs where blob_id = $1', [blobId]);
  if (found.length === 0) throw failure('BLOB_NOT_FOUND', { blobId });
  for (let position = 0; ; position += 1) {
    const [row] = await database.query<{ data: Buffer }>('blobs.getChunk', GET_CHUNK, [blobId, position]);
    if (row === undefined) return;
    yield row.data;
  }
}
