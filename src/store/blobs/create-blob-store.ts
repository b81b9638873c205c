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
  const place = placeOf(address);
  if (place && 'directory' in place) return createDirectoryBlobs({ ...place, newBlobId, owns });
  if (place) return createS3Blobs({ ...place, newBlobId, owns });
  throw failure('CONFIG_INVALID', {
    name: 'LONGSHORE_BLOBS',
    problem: `${JSON.stringify(address)} is no address of a blob store`,
    fix: 'Use file:///directory or s3://bucket/prefix, or unset it to keep blobs in Postgres',
  });
}

type Place = { directory: string } | { bucket: string; prefix: string };

/** Undefined for an address that names none, such as `file://var/blobs`, whose first part is a host. */
function placeOf(address: string): Place | undefined {
  try {
    const url = new URL(address);
    if (url.protocol === 'file:') return { directory: fileURLToPath(url) };
    if (url.protocol === 's3:' && url.host !== '') return { bucket: url.host, prefix: prefixOf(url) };
  } catch {
    // Both parts of Node.js throw errors of their own.
  }
  return undefined;
}

/** Empty, or ends in a slash. */
function prefixOf({ pathname }: URL): string {
  const path = decodeURIComponent(pathname).replace(/^\/+/, '').replace(/\/+$/, '');
  return path === '' ? '' : `${path}/`;
}
