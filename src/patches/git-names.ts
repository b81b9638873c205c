const SHORT: Record<number, string> = { 7: 'a', 8: 'b', 9: 't', 10: 'n', 11: 'v', 12: 'f', 13: 'r', 34: '"', 92: '\\' };
const FIRST_PRINTABLE = 0x20;
const DELETE = 0x7f;
/** Git writes no such component, whatever the case and whatever a file system would make of its end. */
const GIT_DIRECTORY = /^(?:\.git|git~1)[. ]*(?:[\\:].*)?$/is;
const GIT_MODULES = /^(?:\.gitmodules|gitmod~[1-4]|gi7eb[0-9a-f]*~\d)[. ]*(?:[\\:].*)?$/is;

/** Bytes of a name whose bytes that are not UTF-8 are lone surrogates from U+DC80 to U+DCFF. */
export function nameBytes(name: string): Buffer {
  const parts = name.split(/([\u{DC80}-\u{DCFF}])/u);
  return Buffer.concat(parts.map((part, index) => (index % 2 === 1 ? Buffer.from([part.charCodeAt(0) & 0xff]) : Buffer.from(part))));
}

/** A name as git reads it, one character per byte: in quotes when it has other bytes than printable ASCII, or a space, whose place in a header git may mistake. */
export function quotedName(prefix: string, name: string): string {
  const bytes = nameBytes(name);
  const shown = [...bytes].map(shownByte).join('');
  return shown.length === bytes.length && !shown.includes(' ') ? `${prefix}${shown}` : `"${prefix}${shown}"`;
}

function shownByte(byte: number): string {
  const short = SHORT[byte];
  if (short !== undefined) return `\\${short}`;
  return byte < FIRST_PRINTABLE || byte >= DELETE ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte);
}

/** Why git takes no patch for such a path. */
export function refusedByGit(path: string, type: string): string | undefined {
  const components = path.split('/');
  if (components.some((component) => GIT_DIRECTORY.test(component))) return 'git writes nothing into a directory of this name';
  return type === 'link' && components.some((component) => GIT_MODULES.test(component)) ? 'git makes no link of this name' : undefined;
}
