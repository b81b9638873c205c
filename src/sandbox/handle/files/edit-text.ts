import { failure } from '../../../contracts/errors.ts';
import type { FileEdit } from '../../api/files.ts';
import { detectEncoding, encodeText } from './encoding.ts';

const SHOWN_LINES = 10;
/** Places are not counted beyond this: the file may be the guest's, and have as many as it has bytes. */
const MOST_PLACES = 1000;
const LF = 10;
const CR = 13;

/** The bytes of a text, and the characters in which it can be searched: bytes, or units of UTF-16. */
interface Characters {
  bytes: Buffer;
  /** Bytes of a character. */
  unit: 1 | 2;
  at: (place: number) => number;
}

/**
 * Replaces a text in a file's bytes and changes no other byte. Line ends of the edit become those of the file.
 * @throws FILE_FAILED when the text does not occur exactly once.
 */
export function editText(bytes: Buffer, { oldText, newText }: { oldText: string; newText: string }, path: string): { bytes: Buffer; edit: FileEdit } {
  const detected = detectEncoding(bytes);
  if (detected === 'binary') throw failure('FILE_FAILED', { path, problem: 'is binary; it was not changed. Replace it as a whole with writeFile' });
  const encoding = detected === 'utf-8-bom' ? 'utf-8' : detected;
  const characters = charactersOf(bytes, encoding);
  const adapt = usesCrLf(characters) ? withCrLf : (text: string): string => text;
  const encode = (text: string): Buffer => encodeText(adapt(text), encoding);
  const old = encode(oldText);
  const places = find(characters, old);
  const [place] = places;
  if (place === undefined)
    throw failure('FILE_FAILED', { path, problem: 'the text to replace is not in it; it was not changed. Read it again and give a text as it stands there' });
  if (places.length > 1) {
    const shown = linesOf(characters, places.slice(0, SHOWN_LINES)).join(', ');
    const times = places.length > MOST_PLACES ? `more than ${MOST_PLACES}` : String(places.length);
    const rest = places.length > MOST_PLACES ? ' and more' : places.length > SHOWN_LINES ? ` and ${places.length - SHOWN_LINES} more` : '';
    throw failure('FILE_FAILED', {
      path,
      problem: `the text to replace is in it ${times} times (lines ${shown}${rest}); it was not changed. Give more of the text around the place`,
    });
  }
  const [line = 1] = linesOf(characters, [place]);
  return {
    bytes: Buffer.concat([bytes.subarray(0, place), encode(newText), bytes.subarray(place + old.length)]),
    edit: { change: newText === '' ? 'removed' : 'updated', line },
  };
}

function charactersOf(bytes: Buffer, encoding: string): Characters {
  const byte = (place: number): number => bytes[place] ?? 0;
  if (encoding === 'utf-16le') return { bytes, unit: 2, at: (place) => byte(place) | (byte(place + 1) << 8) };
  if (encoding === 'utf-16be') return { bytes, unit: 2, at: (place) => (byte(place) << 8) | byte(place + 1) };
  return { bytes, unit: 1, at: byte };
}

/** A file uses CRLF when each of its lines ends with it. */
function usesCrLf({ bytes, unit, at }: Characters): boolean {
  let uses = false;
  for (let place = 0; place < bytes.length; place += unit) {
    if (at(place) !== LF) continue;
    if (place < unit || at(place - unit) !== CR) return false;
    uses = true;
  }
  return uses;
}

function withCrLf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

/** The first places, at most one more than are counted. Includes those that overlap: the text then does not occur exactly once. */
function find({ bytes, unit }: Characters, sought: Buffer): number[] {
  const places: number[] = [];
  // With this encoding, only whole characters are compared, whatever their order of bytes is.
  const next = (from: number): number => bytes.indexOf(sought, from, unit === 2 ? 'utf16le' : 'latin1');
  for (let place = next(0); place >= 0 && places.length <= MOST_PLACES; place = next(place + unit)) places.push(place);
  return places;
}

/** The numbers of the lines of places, which are in order. */
function linesOf({ unit, at }: Characters, places: number[]): number[] {
  let line = 1;
  let seen = 0;
  return places.map((place) => {
    for (; seen < place; seen += unit) if (at(seen) === LF) line += 1;
    return line;
  });
}
