/** Size of the pieces in which a stream is held in memory and sent. */
export const PIECE_BYTES = 2 * 1024 * 1024;

/** Gathers the chunks of a source into pieces of `size` bytes; the last piece may be shorter. */
export async function* collectPieces(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let chunks: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of source) {
    for (let rest = chunk; rest.byteLength > 0;) {
      const taken = rest.subarray(0, size - held);
      rest = rest.subarray(taken.byteLength);
      chunks.push(taken);
      held += taken.byteLength;
      if (held < size) continue;
      yield joined(chunks, held);
      chunks = [];
      held = 0;
    }
  }
  if (held > 0) yield joined(chunks, held);
}

function joined(chunks: Uint8Array[], size: number): Buffer {
  const [only] = chunks;
  if (only === undefined || chunks.length > 1) return Buffer.concat(chunks, size);
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
}
