import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../src/store/blobs/blob-store.ts';
import { createBlobStore } from '../../src/store/blobs/create-blob-store.ts';
import type { Database } from '../../src/store/database/database.ts';
import { BUCKET, KEYS, startS3Gateway, type S3Gateway } from './s3-gateway.ts';

const MEGABYTE = 1024 * 1024;
const before = { ...process.env };

/** What happens to a request on its way to the server. */
type Fault = (request: IncomingMessage, response: ServerResponse) => 'pass' | 'done' | { cutAfter: number };

let gateway: S3Gateway;
let fault: Fault = () => 'pass';
let requests: string[] = [];
const between = createServer((request, response) => {
  requests.push(`${request.method} ${request.headers.range ?? ''}`.trim());
  const verdict = fault(request, response);
  if (verdict === 'done') return;
  const { method, url: path, headers } = request;
  const onward = httpRequest({ host: '127.0.0.1', port: gateway.port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    if (verdict === 'pass') return void answer.pipe(response);
    let left = verdict.cutAfter;
    answer.on('data', (chunk: Buffer) => {
      if (left > 0) response.write(chunk.subarray(0, left), () => left <= 0 && response.destroy());
      left -= chunk.length;
      return undefined;
    });
    return undefined;
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
});

beforeAll(async () => {
  gateway = await startS3Gateway();
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  Object.assign(process.env, KEYS, { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(between.address() as AddressInfo).port}` });
}, 900_000);
afterAll(async () => {
  process.env = before;
  between.closeAllConnections();
  between.close();
  await gateway[Symbol.asyncDispose]();
});
beforeEach(() => {
  Object.assign(process.env, KEYS);
  fault = () => 'pass';
  requests = [];
});

const open = (bucket = BUCKET): BlobStore => createBlobStore({ address: `s3://${bucket}/some/prefix`, installation: 'ours', database: {} as Database });
async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += 700_001) yield content.subarray(at, at + 700_001);
}
const put = (blobs: BlobStore, content: Buffer) => blobs.put(Readable.from(pieces(content)));
const refuse = (response: ServerResponse, status: number, code: string) => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Please reduce your request rate.</Message></Error>`);
  return 'done' as const;
};

test('what has several parts comes back as it was, is listed, and is gone when it was removed', async () => {
  const blobs = open();
  const content = randomBytes(20 * MEGABYTE + 17);
  const { blobId, bytes } = await put(blobs, content);
  expect(bytes).toBe(content.length);
  // Begin, three parts, end.
  expect(requests).toEqual(['POST', 'PUT', 'PUT', 'PUT', 'POST']);
  expect((await buffer(blobs.get(blobId))).equals(content)).toBe(true);
  const empty = await put(blobs, Buffer.alloc(0));
  expect(await buffer(blobs.get(empty.blobId))).toEqual(Buffer.alloc(0));
  expect((await blobs.list()).map((blob) => blob.blobId).toSorted()).toEqual([blobId, empty.blobId].toSorted());
  for (const id of [blobId, empty.blobId, blobId]) await blobs.remove(id);
  expect(await blobs.list()).toEqual([]);
  await expect(buffer(blobs.get(blobId))).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
});

test('keys that are wrong, and a bucket that does not exist, are said as they are', async () => {
  process.env['AWS_SECRET_ACCESS_KEY'] = 'another';
  await expect(put(open(), Buffer.from('x'))).rejects.toMatchObject({ code: 'BLOB_FAILED', message: expect.stringContaining('SignatureDoesNotMatch') });
  process.env['AWS_ACCESS_KEY_ID'] = 'nobody';
  await expect(open().list()).rejects.toMatchObject({
    code: 'BLOB_FAILED',
    message: expect.stringContaining('No user exists with the provided access key ID'),
  });
  Object.assign(process.env, KEYS);
  await expect(put(open('nothing'), Buffer.from('x'))).rejects.toMatchObject({ code: 'BLOB_FAILED', message: expect.stringContaining('NoSuchBucket') });
});

test('a part that is refused with SlowDown is sent again; a server that refuses everything fails the call, and leaves nothing', async () => {
  const blobs = open();
  let refused = 0;
  fault = ({ method }, response) => (method === 'PUT' && refused++ < 2 ? refuse(response, 503, 'SlowDown') : 'pass');
  const content = randomBytes(9 * MEGABYTE);
  const { blobId } = await put(blobs, content);
  expect((await buffer(blobs.get(blobId))).equals(content)).toBe(true);
  await blobs.remove(blobId);
  fault = ({ method }, response) => (method === 'PUT' ? refuse(response, 503, 'SlowDown') : 'pass');
  await expect(put(blobs, content)).rejects.toMatchObject({ code: 'BLOB_FAILED', retryable: true, message: expect.stringContaining('SlowDown') });
  fault = () => 'pass';
  expect(await blobs.list()).toEqual([]);
});

test('a connection that is cut while an object is read is replaced, and the rest is read from there', async () => {
  const blobs = open();
  const content = randomBytes(12 * MEGABYTE);
  const { blobId } = await put(blobs, content);
  requests = [];
  let cuts = 0;
  fault = ({ method }) => (method === 'GET' && cuts++ < 2 ? { cutAfter: 3 * MEGABYTE } : 'pass');
  expect((await buffer(blobs.get(blobId))).equals(content)).toBe(true);
  expect(requests).toEqual(['GET', expect.stringMatching(/^GET bytes=\d{5,7}-$/), expect.stringMatching(/^GET bytes=\d{6,7}-$/)]);
  // A body that ends early, and a server that sends no more of it.
  fault = ({ headers }, response) => {
    if (headers.range === undefined) return { cutAfter: MEGABYTE };
    response.destroy();
    return 'done';
  };
  await expect(buffer(blobs.get(blobId))).rejects.toMatchObject({ code: 'BLOB_FAILED', retryable: true });
  fault = () => 'pass';
  await blobs.remove(blobId);
});

test('a connection that is cut while an object is written: the part is sent again; when none can be made, the call fails', async () => {
  const blobs = open();
  let cuts = 0;
  fault = ({ method }, response) => {
    if (method !== 'PUT' || cuts++ > 0) return 'pass';
    response.destroy();
    return 'done';
  };
  const content = randomBytes(9 * MEGABYTE);
  const { blobId } = await put(blobs, content);
  expect((await buffer(blobs.get(blobId))).equals(content)).toBe(true);
  await blobs.remove(blobId);
  fault = (_request, response) => {
    response.destroy();
    return 'done';
  };
  await expect(put(blobs, content)).rejects.toMatchObject({ code: 'BLOB_FAILED', retryable: true });
});

test('an upload that nobody ends is listed and can be removed', async () => {
  const blobs = open();
  fault = ({ method }, response) => (method === 'PUT' || method === 'DELETE' ? refuse(response, 500, 'InternalError') : 'pass');
  await expect(put(blobs, Buffer.from('x'))).rejects.toMatchObject({ code: 'BLOB_FAILED' });
  fault = () => 'pass';
  const [left, ...more] = await blobs.list();
  expect(more).toEqual([]);
  await blobs.remove(left!.blobId);
  expect(await blobs.list()).toEqual([]);
});
