import type { DoubleQuotedPart, Word, WordPart } from 'unbash';

/** Placeholder for a part of a text that is known only when the command runs: any text, including spaces. */
export const UNKNOWN = '\u{E000}';

/** A word without its quotes and escapes, with `UNKNOWN` in place of what the shell inserts. */
export interface ShellWord {
  text: string;
  /** The shell may split it into several words, or into none. */
  splits: boolean;
}

export function wordOf({ value, parts }: Pick<Word, 'value' | 'parts'>): ShellWord {
  if (!parts) return { text: value, splits: false };
  return { text: parts.map(textOf).join(''), splits: parts.some(({ type }) => !QUOTED.has(type)) };
}

const QUOTED = new Set<string>(['Literal', 'SingleQuoted', 'DoubleQuoted', 'AnsiCQuoted', 'LocaleString']);

function textOf(part: WordPart | DoubleQuotedPart['parts'][number]): string {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
      return part.value;
    case 'AnsiCQuoted':
      // Bash reads `\x{6d}` as one character, the parser as it is written.
      return part.text.includes('\\x{') ? UNKNOWN : part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map(textOf).join('');
    default:
      return UNKNOWN;
  }
}
