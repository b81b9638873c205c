import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { failure, isFailure } from '../../contracts/errors.ts';
import { inPieces, Meter, whenRead, type BlobStore } from './blob-store.ts';

/** A blob has at most ten thousand parts, so 80 GB; one part is in memory at a time. */
const PART_BYTES = 8 * 1024 * 1024;
const ATTEMPTS_IN_VAIN = 3;

/** A connection that is not made, or says nothing, for so long has failed; without a limit it would be waited for without end. */
const CONNECT_MS = 10_000;
const SILENCE_MS = 60_000;

type Sdk = typeof import('@aws-sdk/client-s3');
interface Bucket {
  sdk: Sdk;
  client: S3Client;
  bucket: string;
}

export interface S3Options {
  bucket: string;
  prefix: string;
  newBlobId: () => string;
  owns: (blobId: string) => boolean;
}

/**
 * Blobs as objects of an S3-compatible bucket. Region, credentials and endpoint come from the AWS SDK's usual sources (`AWS_REGION`,
 * `AWS_ENDPOINT_URL_S3`, …). An object appears only after its last part was confirmed.
 */
export function createS3Blobs({ bucket, prefix, newBlobId, owns }: S3Options): BlobStore {
  let opened: Promise<Bucket> | undefined;
  const using = async <T>(blobId: string, work: (bucket: Bucket) => Promise<T>): Promise<T> => {
    try {
      opened ??= openBucket(bucket);
      return await work(await opened);
    } catch (error) {
      throw toFailure(blobId, error);
    }
  };
  const keyOf = (blobId: string) => prefix + blobId;
  return {
    put: (content) => {
      const blobId = newBlobId();
      return using(blobId, async (bucket) => ({ blobId, ...(await upload(bucket, keyOf(blobId), content)) }));
    },
    get: (blobId) =>
      whenRead(() => {
        const passed = new PassThrough();
        using(blobId, (bucket) => download(bucket, keyOf(blobId), passed)).catch((error: unknown) => passed.destroy(error as Error));
        return passed;
      }),
    remove: (blobId) =>
      using(blobId, async (bucket) => {
        const { sdk, client, bucket: Bucket } = bucket;
        await client.send(new sdk.DeleteObjectCommand({ Bucket, Key: keyOf(blobId) }));
        for (const { key, uploadId } of await unfinished(bucket, keyOf(blobId))) {
          await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key: key, UploadId: uploadId }));
        }
      }),
    list: () =>
      using('the list', async (bucket) => {
        const found = [...(await objects(bucket, prefix)), ...(await unfinished(bucket, prefix))];
        return found.map(({ key, createdAtMs }) => ({ blobId: key.slice(prefix.length), createdAtMs })).filter(({ blobId }) => owns(blobId));
      }),
  };
}

async function openBucket(bucket: string): Promise<Bucket> {
  let sdk: Sdk;
  try {
    sdk = await import('@aws-sdk/client-s3');
  } catch (error) {
    const problem = 'blobs are to be kept in S3, and the package @aws-sdk/client-s3 is not installed';
    throw failure('CONFIG_INVALID', { name: 'LONGSHORE_BLOBS', problem, fix: 'Install it: npm install @aws-sdk/client-s3' }, error);
  }
  // Compatible stores support neither bucket names as hosts nor the newest checksums.
  const requestHandler = { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS };
  const client = new sdk.S3Client({
    requestHandler,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return { sdk, client, bucket };
}

async function upload({ sdk, client, bucket: Bucket }: Bucket, Key: string, content: Readable): Promise<{ bytes: number; sha256: string }> {
  const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key }));
  const meter = new Meter();
  const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
  const putPart = async (Body: Buffer) => {
    const PartNumber = Parts.length + 1;
    const { ETag } = await client.send(new sdk.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
    Parts.push({ PartNumber, ETag });
  };
  try {
    await pipeline(content, async (source: AsyncIterable<Buffer>) => {
      for await (const piece of inPieces(meter.through(source), PART_BYTES)) await putPart(piece);
      // An upload needs at least one part.
      if (Parts.length === 0) await putPart(Buffer.alloc(0));
    });
    await client.send(new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
  } catch (error) {
    // An upload that cannot be aborted now is found later in the list of uploads.
    await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(() => undefined);
    throw error;
  }
  return { bytes: meter.bytes, sha256: meter.sha256() };
}

/** A connection that is cut is replaced, and the object is read on from there. Fails when that does not get any further. */
async function download(bucket: Bucket, Key: string, into: PassThrough): Promise<void> {
  const read = { bytes: 0, etag: undefined as string | undefined };
  for (let inVain = 0; ;) {
    const before = read.bytes;
    try {
      await readOn(bucket, Key, into, read);
      into.end();
      return;
    } catch (error) {
      inVain = read.bytes > before ? 0 : inVain + 1;
      if (!isSocketError(error) || inVain === ATTEMPTS_IN_VAIN) throw error;
    }
  }
}

/** Reads an object from where it was read up to, if it is the same still. */
async function readOn(
  { sdk, client, bucket: Bucket }: Bucket,
  Key: string,
  into: PassThrough,
  read: { bytes: number; etag: string | undefined },
): Promise<void> {
  const rest = read.bytes > 0 && { Range: `bytes=${read.bytes}-`, IfMatch: read.etag };
  const { Body, ETag, ContentRange } = await client.send(new sdk.GetObjectCommand({ Bucket, Key, ...rest }));
  if (rest && ContentRange === undefined) throw new TypeError('the store has not sent the part of the object that it was asked for');
  read.etag = ETag;
  for await (const chunk of Body as AsyncIterable<Buffer>) {
    read.bytes += chunk.length;
    if (!into.write(chunk)) await roomIn(into);
    if (into.destroyed) return;
  }
}

/** Until more can be written, or the stream is closed. Nothing stays that listens for the other of these: a large object waits for its reader many thousand times. */
async function roomIn(stream: PassThrough): Promise<void> {
  const over = new AbortController();
  const ends = ['drain', 'close'].map((event) => once(stream, event, { signal: over.signal }));
  try {
    await Promise.race(ends);
  } finally {
    over.abort();
    await Promise.allSettled(ends);
  }
}

interface Found {
  key: string;
  createdAtMs: number;
}

async function objects({ sdk, client, bucket: Bucket }: Bucket, Prefix: string): Promise<Found[]> {
  const found: Found[] = [];
  for (let ContinuationToken: string | undefined; ;) {
    const page = await client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ...(ContinuationToken !== undefined && { ContinuationToken }) }));
    for (const { Key = '', LastModified } of page.Contents ?? []) found.push({ key: Key, createdAtMs: LastModified?.getTime() ?? 0 });
    ContinuationToken = page.NextContinuationToken;
    if (ContinuationToken === undefined) return found;
  }
}

/** Uploads that a crash interrupted. They cost money, and no list of objects shows them. */
async function unfinished({ sdk, client, bucket: Bucket }: Bucket, Prefix: string): Promise<(Found & { uploadId: string })[]> {
  const found: (Found & { uploadId: string })[] = [];
  for (let after: { KeyMarker?: string; UploadIdMarker?: string } = {}; ;) {
    const page = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix, ...after }));
    for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? [])
      found.push({ key: Key, uploadId: UploadId, createdAtMs: Initiated?.getTime() ?? 0 });
    if (page.IsTruncated !== true || page.NextKeyMarker === undefined) return found;
    after = { KeyMarker: page.NextKeyMarker, ...(page.NextUploadIdMarker !== undefined && { UploadIdMarker: page.NextUploadIdMarker }) };
  }
}

/** Errors of the stream that is being stored are passed on unchanged: they are not errors of the store. */
function toFailure(blobId: string, error: unknown): unknown {
  if (isFailure(error)) return error;
  const { name, $metadata, message } = error as { name?: string; $metadata?: { httpStatusCode?: number }; message?: string };
  if (name === 'NoSuchKey' || name === 'NotFound') return failure('BLOB_NOT_FOUND', { blobId }, error);
  const isSdks = $metadata !== undefined || name === 'CredentialsProviderError' || isSocketError(error);
  return isSdks ? failure('BLOB_FAILED', { blobId, problem: `${name}: ${message}` }, error) : error;
}

function isSocketError(error: unknown): boolean {
  return typeof (error as { code?: unknown } | undefined)?.code === 'string';
}
