import type { Redirection } from 'unbash';
import type { ShellWord } from './word-text.ts';

/** One of the commands that a shell command consists of, or a file that it writes. */
export interface ShellPart {
  /** For rules that deny or ask: each plain form in which the part could be written. */
  texts: string[];
  /** For rules that allow; undefined if no rule has to allow this part, because another part represents it or because it may not run. */
  written: string | undefined;
}

/** Collects the parts of a command. Its work is bounded; what exceeds the bound is recorded as unknown. */
export interface Search {
  readonly unknown: string[];
  readonly isExhausted: boolean;
  /** Each following word of this command is already searched as the beginning of another command. */
  tailsAreSearched: boolean;
  /** @param isSoft the text may not be a command at all, so it is ignored if it cannot be parsed */
  text(text: string, isSoft?: boolean): void;
  /** Another program may run the value that is assigned to a variable. */
  variable(assignment: string): void;
  /** A command that is given by its words. */
  words(words: ShellWord[], assignments?: string[], redirects?: readonly Redirection[]): void;
  /** For commands that may or may not run: rules that deny or ask see them, but no rule has to allow them. */
  softly(work: (soft: Search) => void): void;
}

/** What is known about the commands that a command runs. */
export interface Behind {
  /** Another part describes everything that the command does. */
  isTransparent: boolean;
}

export const OPAQUE: Behind = { isTransparent: false };

export function joinedWords(words: ShellWord[]): string {
  return words.map(({ text }) => text).join(' ');
}

export function notKnown(search: Search, what: string): void {
  search.unknown.push(`what ${what} runs is only known when it runs`);
}
