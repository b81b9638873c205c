import { connect } from 'node:net';
import * as fc from 'fast-check';
import type { Json } from '../../../src/contracts/json.ts';
import { exampleBody, filledPath, type Route } from './document.ts';

/** What is sent, byte by byte: a client of HTTP would refuse to send much of it. */
export interface RawRequest {
  target: string;
  headers: [name: string, value: string][];
  body: string | undefined;
}

export interface RawAnswer {
  status: number;
  mediaType: string;
  text: string;
}

interface Base {
  route: Route;
  names: Record<string, string>;
  fields: Record<string, Json>;
  authorization: string;
}

/** Texts in a path or a query as they are sent. */
const TARGETS = [
  '%',
  '%zz',
  '%00',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%2e%2e%2f%2e%2e%2f',
  '%25',
  '%2f',
  '..',
  '.',
  '%20',
  '+',
  '{}',
  '%7B%7D',
  '%0d%0aX-A:%201',
  '%27%3B%20DROP%20TABLE%20x%3B--',
  '%F0%9F%98%80',
  '%E2%80%AE',
  '__proto__',
  'constructor',
  'x'.repeat(301),
  'y'.repeat(5_000),
  '-1',
  '1e999',
  '0x10',
  '9007199254740993',
  'NaN',
  'null',
  'true',
  '[]',
  '%5B%5D',
  '1,2',
  ',',
  '',
];
const TEXTS = [
  '',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202e',
  '😀',
  'x'.repeat(100_000),
  '__proto__',
  "'; DROP TABLE x; --",
  '%00',
  '\r\n',
  '{{x}}',
  '${x}',
];
const VALUES: Json[] = [null, true, false, 0, -1, 0.5, 1e308, -9007199254740992, [], {}, [[]], [{}], [null], { a: { b: [] } }, ...TEXTS];
const LITERALS = [
  '1e999',
  '-1e999',
  '1'.repeat(400),
  '"\\ud800"',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{}}}',
  '['.repeat(100_000),
  '{"a":'.repeat(600),
];
const BODIES = [
  '',
  ' ',
  '{',
  '}',
  '{}',
  '[]',
  'null',
  '"text"',
  '1',
  '\ufeff{}',
  '{"a":1}{',
  '{"a":01}',
  "{'a':1}",
  'a=1&b=2',
  '\u0000',
  '\u00ff\u00fe',
  ...LITERALS,
];
const TYPES = [
  '',
  'text/plain',
  'application/json; charset=utf-7',
  'application/json; charset=',
  'application/JSON',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/json, text/plain',
  'application/problem+json',
  ';',
  '*/*',
  'application/json;;;',
  'a/b;c="',
  'x'.repeat(3_000),
];
const HEADERS: [string, string][] = [
  '',
  ' ',
  '\t',
  '-1',
  '1e999',
  '0x10',
  '9'.repeat(50),
  'é',
  'a b',
  '"',
  ',',
  'x'.repeat(300),
  '1, 2',
  'NaN',
  '../..',
].flatMap((value): [string, string][] =>
  ['Idempotency-Key', 'Last-Event-ID', 'Range', 'Accept', 'If-None-Match', 'Cookie', 'Content-Encoding', 'Expect'].map((name) => [name, value]),
);
const SMUGGLED: [string, string][] = [
  ['Transfer-Encoding', 'chunked'],
  ['Transfer-Encoding', 'gzip'],
  ['Content-Length', '-1'],
  ['Content-Length', '1e3'],
  ['Upgrade', 'websocket'],
  ['Host', 'elsewhere.example'],
  ['X\u0000', 'a'],
  ['X-Long', 'x'.repeat(20_000)],
  ['Range', 'bytes=0-1,5-2,-0'],
  ['Content-Type', 'text/plain'],
  ['Authorization', 'Basic x'],
];

type Change = (request: RawRequest) => RawRequest;

/** Requests of a route that are wrong in one to three ways. */
export function malformed(base: Base): fc.Arbitrary<RawRequest> {
  return fc.array(changes(base), { minLength: 1, maxLength: 3 }).map((all) => all.reduce((request, change) => change(request), wellFormed(base)));
}

function wellFormed({ route, names, fields, authorization }: Base): RawRequest {
  const body = exampleBody(route, fields);
  return {
    target: filledPath(route.path, names),
    headers: [['Authorization', authorization], ...(body ? ([['Content-Type', 'application/json']] as [string, string][]) : [])],
    body: body && JSON.stringify(body),
  };
}

function changes({ route, fields }: Base): fc.Arbitrary<Change> {
  const parameters = (route.operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
  const example = exampleBody(route, fields) ?? { a: 1 };
  const name = fc.constantFrom(...parameters, 'unheard', '__proto__', 'a[b]', '%00');
  const target = fc.constantFrom(...TARGETS);
  const path = target.map((text): Change => (request) => ({ ...request, target: partReplaced(request.target, text) }));
  const query = fc.array(fc.tuple(name, target), { minLength: 1, maxLength: 3 }).map((pairs): Change => {
    const text = pairs.map(([key, value]) => `${key}=${value}`).join('&');
    return (request) => ({ ...request, target: `${request.target}?${text}` });
  });
  const header = fc.constantFrom(...HEADERS, ...SMUGGLED).map((pair): Change => (request) => ({ ...request, headers: [...request.headers, pair] }));
  const type = fc.constantFrom(...TYPES).map((value): Change => (request) => ({
    ...request,
    headers: [...request.headers.filter(([key]) => key !== 'Content-Type'), ['Content-Type', value]],
  }));
  const whole = fc.oneof(fc.constantFrom(...BODIES), fc.jsonValue().map(textOf)).map((body): Change => (request) => ({ ...request, body }));
  const value = fc.oneof(fc.constantFrom(...VALUES).map(textOf), fc.constantFrom(...LITERALS), fc.jsonValue().map(textOf));
  const field = fc.tuple(fc.constantFrom(...Object.keys(example), 'unheard', '__proto__'), value, fc.boolean()).map(([key, text, isGone]): Change => {
    const rest = Object.entries(example).filter(([other]) => other !== key);
    const pairs = [...rest.map(([other, kept]) => `${JSON.stringify(other)}:${JSON.stringify(kept)}`), ...(isGone ? [] : [`${JSON.stringify(key)}:${text}`])];
    return (request) => ({ ...request, body: `{${pairs.join()}}` });
  });
  const ofBody = route.operation.requestBody ? [whole, type, field, field, field] : [whole];
  return fc.oneof(...(route.path.includes('{') ? [path, path] : []), query, query, header, ...ofBody);
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}

/** Puts a text in place of the last part of the path that is an id. */
function partReplaced(target: string, text: string): string {
  const [path = '', query] = target.split('?', 2);
  const parts = path.split('/');
  parts[Math.min(3, parts.length - 1)] = text;
  return parts.join('/') + (query === undefined ? '' : `?${query}`);
}

const ANSWER = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/;
/** Nothing, or what may be the size of a chunk. */
const SIZE = /^[\da-f]*$/i;
/** A request whose body never comes is ended by its sender. */
const PATIENCE_MS = 20_000;

/** Sends a request over a connection of its own, and reads the answer; of a stream, only the head. */
export async function sendRaw(url: string, { method }: Pick<Route, 'method'>, { target, headers, body }: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`no answer in ${PATIENCE_MS} ms`)));
  const isAnnounced = headers.some(([name, value]) => name === 'Transfer-Encoding' && value === 'chunked');
  // Without this, the service would wait for a body that was announced, or for the rest of a chunk whose size is this body, as it should.
  const bytes = Buffer.from(isAnnounced && SIZE.test(body ?? '') ? 'no chunk\r\n' : (body ?? ''), 'utf8');
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers.map(([name, value]) => `${name}: ${value}`)];
  const isSized = headers.some(([name]) => name === 'Content-Length' || name === 'Transfer-Encoding');
  if (body !== undefined && !isSized) lines.push(`Content-Length: ${bytes.length}`);
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]));
  let text = '';
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString('latin1');
      if (/^content-type: text\/event-stream/im.test(text)) break;
    }
  } catch (error) {
    // The service may close the connection before it has taken all of a body that it refuses.
    if (!ANSWER.test(text)) throw new Error(`${method} ${target}: ${(error as Error).message}`, { cause: error });
  } finally {
    socket.destroy();
  }
  return parsed(text);
}

function parsed(text: string): RawAnswer {
  const [, status = '0', head = '', rest = ''] = ANSWER.exec(text.replace(/^HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n/, '')) ?? [];
  const mediaType = /^content-type: ([^;\r]*)/im.exec(head)?.[1] ?? '';
  const body = /^transfer-encoding: chunked/im.test(head) ? rest.replaceAll(/^[0-9a-f]+\r\n|\r\n$/gim, '') : rest;
  return { status: Number(status), mediaType, text: Buffer.from(body, 'latin1').toString('utf8') };
}
