import { failure } from '../../../contracts/errors.ts';
import type { FileEdit } from '../../api/files.ts';
import { detectEncoding, encodeText } from './encoding.ts';

const SHOWN_LINES = 10;

/**
 * Replaces a text in a file's bytes and changes no other byte. Line ends of the edit become those of the file.
 * @throws FILE_FAILED when the text does not occur exactly once.
 */
export function editText(bytes: Buffer, { oldText, newText }: { oldText: string; newText: string }, path: string): { bytes: Buffer; edit: FileEdit } {
  const detected = detectEncoding(bytes);
  if (detected === 'binary') throw failure('FILE_FAILED', { path, problem: 'is binary; it was not changed. Replace it as a whole with writeFile' });
  const encoding = detected === 'utf-8-bom' ? 'utf-8' : detected;
  const unit = encoding.startsWith('utf-16') ? 2 : 1;
  const encode = (text: string): Buffer => encodeText(text, encoding);
  const adapt = usesCrLf(bytes, encode) ? withCrLf : (text: string): string => text;
  const old = encode(adapt(oldText));
  const places = findAll(bytes, old, unit);
  const lineOf = (place: number): number => findAll(bytes.subarray(0, place), encode('\n'), unit).length + 1;
  const [place] = places;
  if (place === undefined)
    throw failure('FILE_FAILED', { path, problem: 'the text to replace is not in it; it was not changed. Read it again and give a text as it stands there' });
  if (places.length > 1) {
    const lines = places.slice(0, SHOWN_LINES).map(lineOf).join(', ') + (places.length > SHOWN_LINES ? ` and ${places.length - SHOWN_LINES} more` : '');
    throw failure('FILE_FAILED', {
      path,
      problem: `the text to replace is in it ${places.length} times (lines ${lines}); it was not changed. Give more of the text around the place`,
    });
  }
  return {
    bytes: Buffer.concat([bytes.subarray(0, place), encode(adapt(newText)), bytes.subarray(place + old.length)]),
    edit: { change: newText === '' ? 'removed' : 'updated', line: lineOf(place) },
  };
}

/** A file uses CRLF when each of its lines ends with it. */
function usesCrLf(bytes: Buffer, encode: (text: string) => Buffer): boolean {
  const all = findAll(bytes, encode('\n'), 1).length;
  return all > 0 && findAll(bytes, encode('\r\n'), 1).length === all;
}

function withCrLf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

/** Includes places that overlap: the text then does not occur exactly once. */
function findAll(bytes: Buffer, sought: Buffer, unit: number): number[] {
  const places: number[] = [];
  for (let place = bytes.indexOf(sought); place >= 0; place = bytes.indexOf(sought, place + 1)) {
    if (place % unit === 0) places.push(place);
  }
  return places;
}
