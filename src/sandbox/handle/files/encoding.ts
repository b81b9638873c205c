/** Texts of files as bytes. Node's TextDecoder decodes; `iconv-lite` does not, since it replaces invalid bytes instead of refusing them. */
import { failure } from '../../../contracts/errors.ts';

/** Encodings that can be detected from the bytes alone. `binary`: not a text. */
export type DetectedEncoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'windows-1252' | 'binary';

/** Number of bytes that are read to detect an encoding. */
export const DETECTION_BYTES = 65_536;

const WESTERN = 'windows-1252';
/** The characters of the bytes 0x80 to 0x9f. */
const WESTERN_C1 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** The character of each byte, in UTF-16. */
const WESTERN_UNITS = Uint16Array.from({ length: 256 }, (_, byte) => (byte >= 0x80 && byte <= 0x9f ? WESTERN_C1.charCodeAt(byte - 0x80) : byte));

const MARKS: [DetectedEncoding, number[]][] = [
  ['utf-8-bom', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** Guesses the encoding of a file from its bytes. `whole` is false when only the beginning of the file is given. */
export function detectEncoding(bytes: Uint8Array, whole = true): DetectedEncoding {
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte));
  if (marked) return marked[0];
  if (bytes.includes(0)) return 'binary';
  try {
    // A beginning may end in the middle of a character.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !whole });
    return 'utf-8';
  } catch {
    return bytes.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) ? 'binary' : 'windows-1252';
  }
}

/**
 * Decodes bytes. A byte order mark is not part of the text.
 * @throws INVALID_ARGUMENT for an unknown encoding, FILE_FAILED when the bytes are not valid in it.
 */
export function decodeText(bytes: Uint8Array, encoding: string, path: string): string {
  const name = encoding === 'auto' ? detectEncoding(bytes) : encoding;
  if (name === 'binary') throw failure('FILE_FAILED', { path, problem: 'is binary; read it as bytes, without an encoding' });
  const decoder = createDecoder(name);
  if (decoder.encoding === WESTERN) return decodeWestern(bytes);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw failure('FILE_FAILED', { path, problem: `is not ${name}; read it with the encoding auto, or as bytes, without one` }, error);
  }
}

/**
 * Encodes a text. Only `utf-8-bom` adds a byte order mark.
 * @throws INVALID_ARGUMENT for an encoding that cannot be written, or that does not have a character of the text.
 */
export function encodeText(text: string, encoding: string): Buffer {
  const name = normalize(encoding);
  if (name === 'utf-8') return Buffer.from(encoding.toLowerCase() === 'utf-8-bom' ? `\uFEFF${text}` : text, 'utf8');
  if (name === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (name === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  const table = singleByteTable(name);
  const bytes = Buffer.alloc(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const byte = table.get(text.charAt(index));
    if (byte === undefined) throw invalid(encoding, `it has no ${JSON.stringify(text.charAt(index))}`, 'Use utf-8');
    bytes[index] = byte;
  }
  return bytes;
}

function createDecoder(encoding: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(normalize(encoding), { fatal: true });
  } catch (error) {
    throw failure('INVALID_ARGUMENT', { what: 'The encoding', problem: JSON.stringify(encoding), fix: 'Use utf-8, utf-16le, windows-1252 or auto' }, error);
  }
}

function normalize(encoding: string): string {
  const lower = encoding.toLowerCase();
  if (lower === 'utf-8-bom') return 'utf-8';
  try {
    return new TextDecoder(lower).encoding;
  } catch {
    return lower;
  }
}

/** Several releases of Node decode these bytes as if they were ISO 8859-1. By a table: a regular expression that finds all of a large file ends the process. */
function decodeWestern(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes).map((byte) => WESTERN_UNITS[byte] ?? 0);
  return Buffer.from(units.buffer).toString('utf16le');
}

/** Built by decoding each byte, so that it is correct for every single-byte encoding. */
function singleByteTable(encoding: string): Map<string, number> {
  const decoder = createDecoder(encoding);
  const decode = encoding === WESTERN ? decodeWestern : (bytes: Uint8Array): string => decoder.decode(bytes);
  const table = new Map<string, number>();
  for (let byte = 0; byte < 256; byte += 1) {
    try {
      const character = decode(Uint8Array.of(byte));
      if (character.length === 1) table.set(character, byte);
    } catch {
      // This byte alone is not a character.
    }
  }
  if (table.size < 200) throw invalid(encoding, 'it can be read but not written', 'Use utf-8, utf-16le, utf-16be or an encoding of single bytes');
  return table;
}

function invalid(encoding: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what: `The encoding ${encoding}`, problem, fix });
}
