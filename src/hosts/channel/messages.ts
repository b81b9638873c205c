import type { Readable } from 'node:stream';
import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, LongshoreError, type ErrorCode } from '../../contracts/errors.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { Json } from '../../contracts/json.ts';

/** A message of one side to the other: one byte of kind, four of length, and the payload. A stream that ends without `end` or `error` was cut. */
export const KIND = { json: 1, data: 2, errorData: 3, end: 4, error: 5, beat: 6 } as const;
type Kind = (typeof KIND)[keyof typeof KIND];
export type Message = { kind: 'json'; value: Json } | { kind: 'data'; stream: 'stdout' | 'stderr'; bytes: Buffer };

const HEAD_BYTES = 5;
export const DATA_BYTES = 65_536;
/** A command may have 900,000 characters. */
const JSON_BYTES = 16_000_000;
/** While nothing else is sent, `beat` is sent so often. */
export const BEAT_MS = 10_000;
/** A side that waits for a message and gets nothing for so long takes the other for gone. */
const SILENT_MS = 35_000;

export function frame(kind: Kind, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + payload.byteLength);
  bytes[0] = kind;
  bytes.writeUInt32BE(payload.byteLength, 1);
  bytes.set(payload, HEAD_BYTES);
  return bytes;
}

export function errorFrame(error: unknown): Buffer {
  const { code, values } = isFailure(error) ? error : failure('INTERNAL', { problem: 'the worker failed' });
  return frame(KIND.error, Buffer.from(JSON.stringify({ code, values })));
}

/**
 * The messages of the other side up to its `end`.
 * @throws the error that the other side sends; an Error when the stream is cut, breaks the protocol, or is silent for too long while a message is awaited
 */
export async function* readMessages(source: Readable): AsyncGenerator<Message> {
  const held = createHeld(chunksOf(source));
  for (;;) {
    const head = await held.take(HEAD_BYTES);
    const kind = head[0];
    const length = head.readUInt32BE(1);
    if (length > (kind === KIND.data || kind === KIND.errorData ? DATA_BYTES : JSON_BYTES)) throw new Error(`a message of ${length} bytes`);
    const payload = await held.take(length);
    if (kind === KIND.end) return;
    if (kind === KIND.error) throw toFailure(jsonOf(payload));
    if (kind === KIND.json) yield { kind: 'json', value: jsonOf(payload) };
    else if (kind === KIND.data || kind === KIND.errorData) yield { kind: 'data', stream: kind === KIND.data ? 'stdout' : 'stderr', bytes: payload };
    else if (kind !== KIND.beat) throw new Error(`a message of the unknown kind ${kind}`);
  }
}

/** The bytes of a call that has only these to send, up to its end. */
export async function* dataOf(messages: AsyncIterable<Message>): AsyncGenerator<Buffer> {
  for await (const message of messages) {
    if (message.kind !== 'data') throw new Error('a message that is no data');
    yield message.bytes;
  }
}

function jsonOf(payload: Buffer): Json {
  const value = tryParseForeign(payload.toString());
  if (value === undefined) throw new Error('a message that is no JSON');
  return value;
}

function toFailure(told: Json): LongshoreError {
  const { code, values } = told as { code: ErrorCode; values: Record<string, string | number> };
  return Object.hasOwn(ERRORS, code)
    ? new LongshoreError(code, values)
    : failure('INTERNAL', { problem: 'the worker reports an error that is not known here' });
}

/** Only time in which a chunk is awaited counts: a side that is held back does not take the other for gone. */
async function* chunksOf(source: Readable): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  for (;;) {
    const timer = setTimeout(() => source.destroy(new Error('the other side is silent')), SILENT_MS);
    const next = (await chunks.next().finally(() => clearTimeout(timer))) as IteratorResult<Buffer>;
    if (next.done) return;
    yield next.value;
  }
}

function createHeld(chunks: AsyncGenerator<Buffer>): { take(size: number): Promise<Buffer> } {
  let held: Buffer = Buffer.alloc(0);
  return {
    async take(size) {
      const parts: Buffer[] = [];
      let missing = size;
      for (;;) {
        const part = held.subarray(0, missing);
        held = held.subarray(part.length);
        missing -= part.length;
        parts.push(part);
        if (missing === 0) return parts.length === 1 ? part : Buffer.concat(parts, size);
        const next = await chunks.next();
        if (next.done) throw new Error('the connection ended within a call');
        held = next.value;
      }
    },
  };
}
