import { excessOf, tryParseForeign } from '../../contracts/foreign-json.ts';
import { AS_WRITTEN, invalid, type ArchiveEntry } from './archive-reader.ts';
import { IMPORT_LIMITS } from './import-limits.ts';

export interface Line {
  number: number;
  text: string;
  value: unknown;
}

const NEWLINE = 0x0a;

/** The lines of a file of JSON lines. @throws IMPORT_INVALID with the file and the line */
export async function* readLines({ name, content }: ArchiveEntry, most: { ofLine: number; ofFile: number }): AsyncGenerator<Line> {
  let number = 0;
  let total = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;
  const take = (): Line => {
    number += 1;
    const text = decode(Buffer.concat(held), `line ${number} of ${name}`);
    [held, heldBytes] = [[], 0];
    return { number, text, value: parse(text, `line ${number} of ${name}`) };
  };
  for await (const piece of content) {
    total += piece.length;
    if (total > most.ofFile) throw invalid(`${name} has more than ${most.ofFile} bytes`, 'Export less, or import without Longshore');
    for (let from = 0; from < piece.length;) {
      const at = piece.indexOf(NEWLINE, from);
      const to = at === -1 ? piece.length : at;
      held.push(piece.subarray(from, to));
      heldBytes += to - from;
      if (heldBytes > most.ofLine) throw invalid(`line ${number + 1} of ${name} has more than ${most.ofLine} bytes`, AS_WRITTEN);
      if (at !== -1) yield take();
      from = to + 1;
    }
  }
  if (heldBytes > 0) yield take();
}

/** The whole text of a small file. */
export async function readText(entry: ArchiveEntry, most: number): Promise<string> {
  return decode(await readBytes(entry, most), entry.name);
}

export async function readBytes({ name, content }: ArchiveEntry, most: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let total = 0;
  for await (const piece of content) {
    total += piece.length;
    if (total > most) throw invalid(`${name} has more than ${most} bytes`, AS_WRITTEN);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Reads a file that is not needed. `skipped` counts for all of them. */
export async function skip({ content }: ArchiveEntry, skipped: { bytes: number } = { bytes: 0 }): Promise<void> {
  for await (const piece of content) {
    skipped.bytes += piece.length;
    if (skipped.bytes > IMPORT_LIMITS.skipped) throw invalid('it has too much that no import reads', AS_WRITTEN);
  }
}

export function parse(text: string, what: string): unknown {
  const value = tryParseForeign(text);
  if (value !== undefined) return value;
  throw invalid(`${what} ${excessOf(text) ?? 'is no JSON'}`, AS_WRITTEN);
}

function decode(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid(`${what} is no UTF-8`, AS_WRITTEN);
  }
}
