import type { EgressRefusal } from './refuse.ts';
import type { ByteReader } from './byte-reader.ts';

/** A header as written: name and value. */
export type HeaderField = [name: string, value: string];

export interface RequestHead {
  method: string;
  target: string;
  /** Minor version of HTTP/1. */
  minor: 0 | 1;
  fields: HeaderField[];
}
export interface ResponseHead {
  status: number;
  reason: string;
  fields: HeaderField[];
}

/** The error for a message that is ambiguous or not valid. */
export class BadMessage extends Error {
  readonly status: EgressRefusal['status'];
  /** The problem without the excerpt, which may be a part of a secret. */
  readonly problem: string;
  constructor(problem: string, status: EgressRefusal['status'] = 400, excerpt?: string) {
    super(excerpt === undefined ? problem : `${problem} ("${excerpt}")`);
    this.status = status;
    this.problem = problem;
  }
}

export const MAX_HEAD_BYTES = 65_536;
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e\\x80-\\xff]+) HTTP/1\\.([01])$`);
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
// White space around a value is removed afterwards: in the expression, the time would grow with the cube of a run of spaces, in the worker's event loop.
const FIELD = new RegExp(`^(${TOKEN}):([\\t\\x20-\\x7e\\x80-\\xff]*)$`);

/** The head of the next request; undefined when the stream ends without another request. */
export async function readRequestHead(reader: ByteReader): Promise<RequestHead | undefined> {
  const lines = await readLines(reader, 'the request');
  if (!lines) return undefined;
  const [first = '', ...rest] = lines;
  const [, method, target, minor] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) throw new BadMessage(oddityOfRequestLine(first));
  return { method, target, minor: minor === '1' ? 1 : 0, fields: rest.map(parseField) };
}

export async function readResponseHead(reader: ByteReader): Promise<ResponseHead> {
  const lines = await readLines(reader, 'its answer');
  if (!lines) throw new BadMessage('it closed the connection without an answer');
  const [first = '', ...rest] = lines;
  const [, status, reason = ''] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined || Number(status) < 100) throw new BadMessage('its answer is not HTTP/1.1');
  return { status: Number(status), reason, fields: rest.map(parseField) };
}

export function valuesOf(fields: HeaderField[], name: string): string[] {
  return fields.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
}

/** The name of a header for a comparison: servers that pass headers to programs as variables write "_" for "-", and some for all that is no letter or digit. */
export function alike(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
}

/** The words of list headers, in lower case. */
export function wordsOf(fields: HeaderField[], name: string): string[] {
  return valuesOf(fields, name)
    .flatMap((value) => value.toLowerCase().split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function oddityOfRequestLine(line: string): string {
  if (/ HTTP\/2(\.0)?$/.test(line)) return 'HTTP/2 is not supported here; use HTTP/1.1';
  return / HTTP\/\d/.test(line) ? 'the first line of the request is not "METHOD target HTTP/1.1"' : 'this is not HTTP';
}

/** The lines before the empty line. A CR or LF alone is refused: a reader that accepts it as the end of a line would see other headers. */
async function readLines(reader: ByteReader, what: string): Promise<string[] | undefined> {
  let end = -1;
  for (let seen = 0; end < 0;) {
    const { length } = reader.held;
    // Does not search again what was searched before.
    end = reader.held.indexOf('\r\n\r\n', Math.max(0, seen - 3), 'latin1');
    const fault = faultOfLines(reader.held.subarray(0, end < 0 ? length : end + 4), seen);
    if (fault !== undefined) throw new BadMessage(`${what} has ${fault}`);
    if (end > MAX_HEAD_BYTES || (end < 0 && length > MAX_HEAD_BYTES)) throw new BadMessage(`the head of ${what} takes more than ${MAX_HEAD_BYTES} bytes`, 431);
    seen = length;
    if (end >= 0) break;
    if (await reader.more()) continue;
    if (length === 0) return undefined;
    throw new BadMessage(`${what} ends within its head`);
  }
  return reader
    .take(end + 4)
    .toString('latin1', 0, end)
    .split('\r\n');
}

/** Checks the bytes after the first `seen`. A CR at the end is checked when the next byte has arrived. */
function faultOfLines(head: Buffer, seen: number): string | undefined {
  if (head.includes(0, seen)) return 'a NUL byte in its head';
  for (let at = head.indexOf(10, seen); at >= 0; at = head.indexOf(10, at + 1)) if (head[at - 1] !== 13) return 'a line feed without a carriage return';
  for (let at = head.indexOf(13, Math.max(0, seen - 1)); at >= 0; at = head.indexOf(13, at + 1))
    if (at + 1 < head.length && head[at + 1] !== 10) return 'a carriage return without a line feed';
  return undefined;
}

function parseField(line: string): HeaderField {
  const [, name, value] = FIELD.exec(line) ?? [];
  if (name !== undefined && value !== undefined) return [name, withoutSpaceAround(value)];
  if (/^[\t ]/.test(line)) throw new BadMessage('a header is continued on a second line');
  if (/^[^:]*[\t ]:/.test(line)) throw new BadMessage('a header has white space before its colon');
  throw new BadMessage('a line of the head is not a header', 400, line.slice(0, 40));
}

/** `trim` would also remove U+00A0, which is a byte of the value here. */
function withoutSpaceAround(value: string): string {
  const isSpace = (at: number) => value[at] === ' ' || value[at] === '\t';
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(start)) start += 1;
  while (end > start && isSpace(end - 1)) end -= 1;
  return value.slice(start, end);
}
