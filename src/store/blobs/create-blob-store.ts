import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { failure } from '../../contracts/errors.ts';
import { makeId } from '../../contracts/ids.ts';
import type { Database } from '../database/database.ts';
import type { BlobStore } from './blob-store.ts';
import { createDirectoryBlobs } from './directory-blobs.ts';
import { createPostgresBlobs } from './postgres-blobs.ts';
import { createS3Blobs } from './s3-blobs.ts';

/**
 * The store that an address names: `file:///directory`, `s3://bucket/prefix`, or Postgres when there is no address.
 * Ids begin with the name of the installation, so that several installations can share a directory or a bucket.
 */
export function createBlobStore({ address, installation, database }: { address: string | undefined; installation: string; database: Database }): BlobStore {
  const start = `${installation}-blob_`;
  const newBlobId = () => installation + '-' + makeId('blob', Date.now(), () => randomBytes(4).readUInt32BE(0) / 2 ** 32);
  const owns = (blobId: string) => blobId.startsWith(start);
  if (address === undefined) return createPostgresBlobs({ database, newBlobId });
  const url = parse(address);
  if (url?.protocol === 'file:') return createDirectoryBlobs({ directory: fileURLToPath(url), newBlobId, owns });
  if (url?.protocol === 's3:' && url.host !== '') return createS3Blobs({ bucket: url.host, prefix: prefixOf(url), newBlobId, owns });
  throw failure('CONFIG_INVALID', {
    name: 'LONGSHORE_BLOBS',
    problem: `${JSON.stringify(address)} is no address of a blob store`,
    fix: 'Use file:///directory or s3://bucket/prefix, or unset it to keep blobs in Postgres',
  });
}

function parse(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}

/** Empty, or ends in a slash. */
function prefixOf({ pathname }: URL): string {
  const path = decodeURIComponent(pathname).replace(/^\/+/, '').replace(/\/+$/, '');
  return path === '' ? '' : `${path}/`;
}
