import type { FileHandle } from 'node:fs/promises';

const BLOCK = 4096;
const ZEROS = Buffer.alloc(BLOCK);

/** Writes pieces to a new file and leaves holes for blocks of zeros, so that a sparse file stays sparse. Returns the size of the file. */
export async function writeSparse(file: FileHandle, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let position = 0;
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    for (let at = 0; at < bytes.length;) {
      const end = runEnd(bytes, at);
      if (!isHole(bytes, at)) await writeAll(file, bytes.subarray(at, end), position + at);
      at = end;
    }
    position += bytes.length;
  }
  await file.truncate(position);
  return position;
}

/** End of the run of blocks that are all holes, or all not holes, like the first one. */
function runEnd(bytes: Buffer, start: number): number {
  const hole = isHole(bytes, start);
  let end = start;
  while (end < bytes.length && isHole(bytes, end) === hole) end = Math.min(end + BLOCK, bytes.length);
  return end;
}

function isHole(bytes: Buffer, at: number): boolean {
  return at + BLOCK <= bytes.length && bytes.compare(ZEROS, 0, BLOCK, at, at + BLOCK) === 0;
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}
