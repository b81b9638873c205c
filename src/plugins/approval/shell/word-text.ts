import type { DoubleQuotedPart, Word, WordPart } from 'unbash';

/** Stands in a text for what is known only when the command runs: any text at all, spaces included. */
export const UNKNOWN = '\u{E000}';

/** A word after quotes and escapes are taken away, with `UNKNOWN` in the place of what the shell puts in. */
export interface ShellWord {
  text: string;
  /** The shell may make several words, or none, of it. */
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
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map(textOf).join('');
    default:
      return UNKNOWN;
  }
}
