import { unstorable } from '../../contracts/visible-text.ts';
import { MEMORY_LIMITS } from '../../contracts/memory/memory.ts';

const MOST_CHARACTERS = 200;
const MOST_NAMES = 8;
/** A name does not begin with a dot, so that no path leads upwards. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u;

export const PATH_RULE = `Give a path such as notes/style.md: up to ${MOST_NAMES} names of letters, digits, "_", "-" and ".", with "/" between, ${MOST_CHARACTERS} characters at most`;

/** What is wrong with the path of a file in a memory; undefined for one that can be used. */
export function problemOfPath(path: string): string | undefined {
  if (path === '') return 'it is empty';
  if (path.length > MOST_CHARACTERS) return `it has ${path.length} characters`;
  const names = path.split('/');
  if (names.length > MOST_NAMES) return `it has ${names.length} names`;
  if (!names.every((name) => NAME.test(name))) return 'it has a name that is none of a file';
  // Two texts that look the same would be two files.
  return path === path.normalize('NFC') ? undefined : 'its letters and their marks are not composed (Unicode NFC)';
}

/** What is wrong with the content of a file in a memory; undefined for one that can be stored. */
export function problemOfContent(content: string): string | undefined {
  // The characters first, since it takes long to encode a text of 100 MB.
  const bytes = content.length > MEMORY_LIMITS.fileBytes ? content.length : utf8Length(content);
  if (bytes > MEMORY_LIMITS.fileBytes) return `it has ${bytes} bytes or more, and a file may have ${MEMORY_LIMITS.fileBytes}`;
  const odd = unstorable(content);
  return odd === undefined ? undefined : `it has ${odd}`;
}

/** Bytes of UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4;
  }
  return bytes;
}
