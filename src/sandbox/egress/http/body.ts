import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { ByteReader } from './byte-reader.ts';
import type { Framing } from './framing.ts';
import { BadMessage } from './message-head.ts';

const PIECE_BYTES = 65_536;
const SIZE_LINE_BYTES = 16;

/** The bytes of a body without its framing. Throws when the body ends too early or is ambiguous. */
export async function* bodyOf(reader: ByteReader, framing: Framing, what: string): AsyncGenerator<Buffer> {
  switch (framing.kind) {
    case 'none':
      break;
    case 'length':
      yield* exactly(reader, framing.length, what);
      break;
    case 'untilEnd':
      for (let piece = await reader.piece(PIECE_BYTES); piece !== undefined; piece = await reader.piece(PIECE_BYTES)) yield piece;
      break;
    case 'chunked':
      yield* chunksOf(reader, what);
  }
}

/** Writes a body with new framing, at the pace of its reader. When the source throws, this throws too, and no end is written. */
export async function sendBody(sink: Writable, pieces: AsyncIterable<Buffer>, chunked: boolean, count: (bytes: number) => void): Promise<void> {
  for await (const piece of pieces) {
    count(piece.length);
    if (sink.destroyed) throw new Error('the connection was closed');
    if (chunked) sink.write(`${piece.length.toString(16)}\r\n`);
    const written = sink.write(piece);
    if (!(chunked ? sink.write('\r\n') : written)) await drained(sink);
  }
  if (chunked) sink.write('0\r\n\r\n');
}

async function drained(sink: Writable): Promise<void> {
  if (sink.destroyed) throw new Error('the connection was closed');
  const over = new AbortController();
  try {
    await Promise.race([
      once(sink, 'drain', { signal: over.signal }),
      once(sink, 'close', { signal: over.signal }).then(() => {
        throw new Error('the connection was closed');
      }),
    ]);
  } finally {
    over.abort();
  }
}

async function* exactly(reader: ByteReader, length: number, what: string): AsyncGenerator<Buffer> {
  for (let left = length; left > 0;) {
    const piece = await reader.piece(Math.min(left, PIECE_BYTES));
    if (piece === undefined) throw new BadMessage(`${what} ends ${left} bytes before its end`);
    left -= piece.length;
    yield piece;
  }
}

/** Refuses chunk extensions and trailers: readers treat them differently. */
async function* chunksOf(reader: ByteReader, what: string): AsyncGenerator<Buffer> {
  for (;;) {
    const size = await readSize(reader, what);
    if (size > 0) yield* exactly(reader, size, what);
    if (!(await reader.atLeast(2))) throw new BadMessage(`${what} ends within a chunk`);
    if (reader.take(2).toString('latin1') !== '\r\n')
      throw new BadMessage(size > 0 ? `${what} has a chunk of another size than it says` : `${what} has trailers`);
    if (size === 0) return;
  }
}

async function readSize(reader: ByteReader, what: string): Promise<number> {
  for (;;) {
    const end = reader.held.indexOf(10);
    if (end >= 0 || reader.held.length > SIZE_LINE_BYTES) {
      const line = reader.take(end < 0 ? SIZE_LINE_BYTES : end + 1).toString('latin1');
      const [, digits] = /^([0-9A-Fa-f]{1,8})\r\n$/.exec(line) ?? [];
      if (digits === undefined) throw new BadMessage(`${what} has a chunk without a plain size in hexadecimal digits`, 400, line.trim());
      return Number.parseInt(digits, 16);
    }
    if (!(await reader.more())) throw new BadMessage(`${what} ends before its last chunk`);
  }
}
