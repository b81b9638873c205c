import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { BlobStore } from '../../src/store/blobs/blob-store.ts';
import { createBlobStore } from '../../src/store/blobs/create-blob-store.ts';
import { openDatabase, type Database } from '../../src/store/database/database.ts';
import { startS3Server, type S3Server } from './s3-server.ts';
import { openTestStore, silent } from './support.ts';

const MEGABYTE = 1024 * 1024;
const SETTINGS = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const before = { ...process.env };

let stack: Awaited<ReturnType<typeof openTestStore>>;
let database: Database;
let directory: string;
let s3: S3Server;
beforeAll(async () => {
  stack = await openTestStore();
  database = openDatabase({ url: stack.url, log: silent, poolSize: 2 });
  directory = await mkdtemp(join(tmpdir(), 'longshore-blobs-'));
  s3 = await startS3Server();
  Object.assign(process.env, SETTINGS, { AWS_ENDPOINT_URL_S3: s3.url });
});
afterAll(async () => {
  process.env = before;
  await s3[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
  await database.close();
  await stack[Symbol.asyncDispose]();
});

const open = (address: string | undefined, installation = 'ours') => createBlobStore({ address, installation, database });
const stores: [string, () => string | undefined][] = [
  ['Postgres', () => undefined],
  ['a directory', () => pathToFileURL(directory).href],
  ['S3', () => 's3://bucket/some/prefix'],
];

/** Pieces of odd sizes that none of the stores uses. */
async function* cutUp(content: Buffer, pieceBytes = 700_001): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes);
}

/** A stream that fails in the middle. */
async function* broken(): AsyncGenerator<Buffer> {
  yield randomBytes(9 * MEGABYTE);
  throw new Error('the source broke');
}

describe.each(stores)('%s', (_name, address) => {
  let blobs: BlobStore;
  beforeAll(() => {
    blobs = open(address());
  });

  test('gives back what was put, with its size and digest', async () => {
    const content = randomBytes(20 * MEGABYTE + 17);
    const blob = await blobs.put(Readable.from(cutUp(content)));
    expect(blob).toEqual({ blobId: expect.stringMatching(/^ours-blob_/), bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') });
    expect((await buffer(blobs.get(blob.blobId))).equals(content)).toBe(true);
    expect(await blobs.list()).toEqual([{ blobId: blob.blobId, createdAtMs: expect.any(Number) }]);
    await blobs.remove(blob.blobId);
    await blobs.remove(blob.blobId);
    expect(await blobs.list()).toEqual([]);
    await expect(buffer(blobs.get(blob.blobId))).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  });

  test('a blob that does not exist is an error of its reader, however late it reads', async () => {
    const content = blobs.get('ours-blob_gone');
    const early: unknown[] = [];
    const noteEarly = (error: unknown) => early.push(error);
    content.on('error', noteEarly);
    // In the meantime, the store answers others.
    const { blobId } = await blobs.put(Readable.from([Buffer.from('x')]));
    await buffer(blobs.get(blobId));
    await blobs.remove(blobId);
    expect(early).toEqual([]);
    content.off('error', noteEarly);
    await expect(buffer(content)).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  });

  test('keeps an empty stream', async () => {
    const { blobId, bytes } = await blobs.put(Readable.from([]));
    expect({ bytes, content: await buffer(blobs.get(blobId)) }).toEqual({ bytes: 0, content: Buffer.alloc(0) });
    await blobs.remove(blobId);
  });

  test('keeps nothing of a stream that fails, and passes its error on', async () => {
    await expect(blobs.put(Readable.from(broken()))).rejects.toThrow('the source broke');
    expect(await blobs.list()).toEqual([]);
  });

  test('keeps nothing of a stream that has failed before it is read', async () => {
    const failed = new PassThrough();
    failed.on('error', () => undefined);
    failed.destroy(new Error('the source broke'));
    await expect(blobs.put(failed)).rejects.toThrow('the source broke');
    expect(await blobs.list()).toEqual([]);
  });

  test('lists the blobs of its own installation alone, page by page', async () => {
    const put = async (store: BlobStore) => (await store.put(Readable.from([Buffer.from('x')]))).blobId;
    const ids = [await put(blobs), await put(blobs), await put(blobs)];
    const theirs = address() === undefined ? undefined : await put(open(address(), 'theirs'));
    expect((await blobs.list()).map(({ blobId }) => blobId).toSorted()).toEqual(ids.toSorted());
    for (const id of [...ids, ...(theirs ? [theirs] : [])]) await blobs.remove(id);
  });
});

test('what a crash has left of a put is listed and can be removed', async () => {
  await writeFile(join(directory, 'ours-blob_half.partial'), 'half');
  await database.query('half', "insert into blobs (blob_id) values ('ours-blob_half')", []);
  s3.uploads.set('u1', { key: 'some/prefix/ours-blob_half', parts: new Map() });
  for (const [, address] of stores) {
    const blobs = open(address());
    expect(await blobs.list()).toEqual([{ blobId: 'ours-blob_half', createdAtMs: expect.any(Number) }]);
    await blobs.remove('ours-blob_half');
    expect(await blobs.list()).toEqual([]);
  }
  expect({ files: await readdir(directory), uploads: s3.uploads.size }).toEqual({ files: [], uploads: 0 });
});

test('a download from S3 that its reader is too slow for leaves nothing behind for each time that it waits', async () => {
  const blobs = open('s3://bucket/some/prefix');
  const { blobId } = await blobs.put(Readable.from(cutUp(randomBytes(6 * MEGABYTE))));
  const seen = { waits: 0, listeners: 0 };
  PassThrough.prototype.write = function (this: PassThrough, ...args: Parameters<Writable['write']>) {
    const isTaken = Writable.prototype.write.apply(this, args);
    if (!isTaken) seen.waits += 1;
    seen.listeners = Math.max(seen.listeners, this.listenerCount('close'), this.listenerCount('error'));
    return isTaken;
  } as Writable['write'];
  for await (const _ of blobs.get(blobId)) await new Promise(setImmediate);
  Reflect.deleteProperty(PassThrough.prototype, 'write');
  expect(seen.waits).toBeGreaterThan(20);
  expect(seen.listeners).toBeLessThan(10);
  await blobs.remove(blobId);
});

test('no part that is sent to S3 is larger than 8 MB', () => {
  expect(s3.largestPart()).toBe(8 * MEGABYTE);
});

test.each(['ftp://somewhere', 'file://var/blobs', 'file:///var/blobs%2Fours', 's3://bucket/100%', 's3:///prefix', 'somewhere'])(
  '%s is no address, and is refused with what can be used',
  (address) => {
    expect(() => open(address)).toThrow(
      `LONGSHORE_BLOBS: "${address}" is no address of a blob store. Use file:///directory or s3://bucket/prefix, or unset it to keep blobs in Postgres`,
    );
  },
);

test('a store that cannot be reached says so', async () => {
  process.env['AWS_ENDPOINT_URL_S3'] = 'http://127.0.0.1:1';
  process.env['AWS_MAX_ATTEMPTS'] = '1';
  await expect(open('s3://bucket').put(Readable.from([Buffer.from('x')]))).rejects.toMatchObject({
    code: 'BLOB_FAILED',
    message: expect.stringContaining('ECONNREFUSED'),
  });
});
