import type { Redirection } from 'unbash';
import type { ShellWord } from './word-text.ts';

/** One of the commands that a shell command consists of, or a file that it writes. */
export interface ShellPart {
  /** As rules that deny or ask see it: each way in which it could have been written plainly. */
  texts: string[];
  /** As rules that allow see it; undefined where another part stands for it. */
  written: string | undefined;
}

/** Collects the parts of a command. Its work is bounded; what is beyond is noted as not known. */
export interface Search {
  readonly unknown: string[];
  readonly isExhausted: boolean;
  /** All words that follow in this command are considered as the beginning of another one already. */
  tailsAreSearched: boolean;
  /** @param isSoft it is only perhaps run as a command, so what cannot be read of it is left out */
  text(text: string, isSoft?: boolean): void;
  /** What is assigned to a variable may be what another program runs. */
  variable(assignment: string): void;
  /** A command by its words, wherever they stood. */
  words(words: ShellWord[], assignments?: string[], redirects?: readonly Redirection[]): void;
  /** What may be run, but need not be: a rule that denies or asks sees it, and nobody has to allow it. */
  softly(work: (soft: Search) => void): void;
}

/** What running a command comes down to. */
export interface Behind {
  /** Another part says all of it. */
  isTransparent: boolean;
}

export const OPAQUE: Behind = { isTransparent: false };

export function joined(words: ShellWord[]): string {
  return words.map(({ text }) => text).join(' ');
}

export function notKnown(search: Search, what: string): void {
  search.unknown.push(`what ${what} runs is only known when it runs`);
}
