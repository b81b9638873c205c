import { Readable } from 'node:stream';
import { array, assert, asyncProperty, constantFrom, integer, record, tuple } from 'fast-check';
import { bodyOf } from '../../../src/sandbox/egress/http/body.ts';
import { ByteReader } from '../../../src/sandbox/egress/http/byte-reader.ts';
import { framingOfRequest } from '../../../src/sandbox/egress/http/framing.ts';
import { readRequestHead } from '../../../src/sandbox/egress/http/message-head.ts';
import { startSmallInternet, type Proxy, type SmallInternet } from './small-internet.ts';

let net: SmallInternet;
let proxy: Proxy;
let host: string;

beforeAll(async () => {
  net = await startSmallInternet(['open.test']);
  proxy = await net.proxy([{ host: 'open.test', ports: [net.http] }]);
  host = `open.test:${net.http}`;
});
afterAll(() => net[Symbol.asyncDispose]());

/** What the proxy takes for requests, up to the first that it refuses. */
async function requestsIn(bytes: Buffer, pieceBytes: number): Promise<string[]> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_value, index) => bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes));
  const reader = new ByteReader(Readable.from(pieces, { objectMode: false }));
  const found: string[] = [];
  try {
    for (let head = await readRequestHead(reader); head; head = await readRequestHead(reader)) {
      const body: Buffer[] = [];
      for await (const piece of bodyOf(reader, framingOfRequest(head), 'the request')) body.push(piece);
      found.push(`${head.method} ${head.target.slice(`http://${host}`.length)} ${Buffer.concat(body).toString('latin1')}`);
    }
  } catch {
    // Refused: nothing behind it counts.
  }
  return found;
}

const end = constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n ', '\0\r\n');
const field = constantFrom(
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 05',
  'Content-Length: +5',
  'content-length:5',
  'Content-Length : 5',
  'Content-Length: 5 ',
  'Content-Length: 50',
  'Transfer-Encoding: chunked',
  'transfer-encoding:chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer_Encoding: chunked',
  'Connection: content-length',
  'Connection: transfer-encoding, close-not',
  'X-A: 1',
  'X-A: Transfer-Encoding: chunked',
);
const body = constantFrom(
  '',
  'hello',
  'hel',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '05\r\nhello\r\n0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '3\r\nhello\r\n0\r\n\r\n',
  '0\r\nX-A: 1\r\n\r\n',
  'FFFFFFFF\r\n',
);
const request = record({ method: constantFrom('GET', 'POST', 'PUT'), fields: array(tuple(field, end), { maxLength: 4 }), last: end, body });

test('the host receives the requests that the proxy saw, and no other', async () => {
  const property = asyncProperty(array(request, { minLength: 1, maxLength: 4 }), integer({ min: 1, max: 40 }), async (requests, pieceBytes) => {
    net.seen.length = 0;
    const text = requests.map(({ method, fields, last, body: content }, index) => {
      const lines = fields.map(([name, lineEnd]) => name + lineEnd).join('');
      return `${method} http://${host}/r${index} HTTP/1.1\r\nHost: ${host}\r\n${lines}${last}${content}`;
    });
    const bytes = Buffer.from(text.join(''), 'latin1');
    // The host does not know other methods ("helloGET" when a body was not announced) and refuses them.
    const expected = (await requestsIn(bytes, pieceBytes)).filter((seen) => /^(GET|POST|PUT) /.test(seen));
    await proxy.speak(bytes);
    expect(net.seen.map(({ method, url, body: received }) => `${method} ${url} ${received}`)).toEqual(expected);
  });
  await assert(property, { numRuns: 400 });
});
