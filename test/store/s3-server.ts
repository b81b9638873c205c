import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface S3Server extends AsyncDisposable {
  url: string;
  objects: Map<string, Buffer>;
  uploads: Map<string, { key: string; parts: Map<number, Buffer> }>;
  largestPart(): number;
}

/** The part of the S3 protocol that blobs use, on objects in memory. */
export async function startS3Server(): Promise<S3Server> {
  const objects: S3Server['objects'] = new Map();
  const uploads: S3Server['uploads'] = new Map();
  let largest = 0;
  const xml = (root: string, inner: string) => ({ status: 200, body: `<?xml version="1.0"?><${root}>${inner}</${root}>` });
  const when = '2026-01-01T00:00:00.000Z';

  const onBucket = (query: URLSearchParams) => {
    const prefix = query.get('prefix') ?? '';
    if (query.has('uploads')) {
      const found = [...uploads].filter(([, { key }]) => key.startsWith(prefix));
      const list = found.map(([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${when}</Initiated></Upload>`);
      return xml('ListMultipartUploadsResult', list.join(''));
    }
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    // One to a page, so that following pages is part of what is tested.
    const from = Number(query.get('continuation-token') ?? 0);
    const next = from + 1 < keys.length ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${from + 1}</NextContinuationToken>` : '';
    const page = keys.slice(from, from + 1).map((key) => `<Contents><Key>${key}</Key><LastModified>${when}</LastModified></Contents>`);
    return xml('ListBucketResult', page.join('') + next);
  };
  const onPost = (key: string, query: URLSearchParams) => {
    if (query.has('uploads')) {
      const id = randomBytes(4).toString('hex');
      uploads.set(id, { key, parts: new Map() });
      return xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`);
    }
    const id = query.get('uploadId') ?? '';
    const parts = [...(uploads.get(id)?.parts ?? [])].toSorted(([a], [b]) => a - b);
    objects.set(key, Buffer.concat(parts.map(([, part]) => part)));
    uploads.delete(id);
    return xml('CompleteMultipartUploadResult', `<Key>${key}</Key>`);
  };
  const answer = async (request: IncomingMessage): Promise<{ status: number; body?: string | Buffer; etag?: string }> => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://s3');
    const key = decodeURIComponent(pathname).split('/').slice(2).join('/');
    const body = await buffer(request);
    if (request.method === 'GET' && key === '') return onBucket(query);
    if (request.method === 'POST') return onPost(key, query);
    if (request.method === 'PUT') {
      largest = Math.max(largest, body.length);
      uploads.get(query.get('uploadId') ?? '')?.parts.set(Number(query.get('partNumber')), body);
      return { status: 200, etag: '"part"' };
    }
    if (request.method === 'DELETE') {
      if (query.has('uploadId')) uploads.delete(query.get('uploadId') ?? '');
      else objects.delete(key);
      return { status: 204 };
    }
    const found = objects.get(key);
    return found ? { status: 200, body: found } : { status: 404, body: '<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>' };
  };

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, body, etag } = await answer(request);
    response.writeHead(status, { ...(etag !== undefined && { etag }) });
    response.end(body);
  };
  const server = createServer((request, response) => {
    void respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    uploads,
    largestPart: () => largest,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
