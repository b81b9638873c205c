import { readWrapperOptions, scriptsAfter } from './read-options.ts';
import { joinedWords, notKnown, OPAQUE, type Behind, type Search } from './search.ts';
import { UNKNOWN, type ShellWord } from './word-text.ts';
import type { Wrapper } from './wrappers.ts';

export const ANYTHING: ShellWord = { text: UNKNOWN, splits: true };

/** The command that a wrapper runs follows the wrapper's own options and operands. */
export function behindWrapper(search: Search, wrapper: Wrapper, words: ShellWord[]): Behind {
  const options = readWrapperOptions(wrapper, words);
  for (const script of [...options.scripts, ...scriptsAfter(wrapper, words.slice(options.end))]) search.text(asRun(wrapper, script));
  const start = startOf(wrapper, words, options.end);
  if (wrapper.assigns) for (const { text } of words.slice(options.end, start)) search.variable(text);
  if (isOpen(words.slice(0, start), options.end)) notKnown(search, 'a command with options that the shell puts in');
  if (options.isUnsure) everyTail(search, words);
  if (words.length <= start) {
    if (wrapper.joins) notKnown(search, 'a program that reads commands from its input');
    return OPAQUE;
  }
  const inner = words.slice(start);
  if (wrapper.joins) behindJoined(search, inner);
  const filled = withReplaced(wrapper, inner, words.slice(0, start));
  search.words(wrapper.adds ? [...filled, ANYTHING] : filled);
  return { isTransparent: wrapper.isTransparent === true && !options.isUnsure };
}

function asRun({ escapes, adds }: Wrapper, script: string): string {
  const text = escapes ? script.replaceAll(/\\[_fnrtv]/g, ' ') : script;
  return adds ? `${text} ""` : text;
}

function behindJoined(search: Search, inner: ShellWord[]): void {
  search.text(joinedWords(inner));
  // `parallel ::: 'rm x'`
  everyTail(search, inner);
  if (inner[0]?.text === '::::') notKnown(search, 'a program that reads commands from a file');
}

function startOf({ operands = 0, assigns = false }: Wrapper, words: ShellWord[], end: number): number {
  let start = end;
  // `env - NAME=value …`: any word with `=` is an assignment, whatever its name.
  if (assigns && words[start]?.text === '-') start += 1;
  if (assigns) while (words[start]?.text.includes('=')) start += 1;
  return start + operands;
}

/** `xargs -I% sh -c %` and `parallel sh -c {}`: what is put in the place of these marks is not known. */
function withReplaced({ replaces }: Wrapper, inner: ShellWord[], before: ShellWord[]): ShellWord[] {
  const marks = replaces === 'braces' ? [/(?<!\$)\{[^\s{}]*\}/g] : replaces === 'given' ? marksIn(before) : [];
  return inner.map(({ text, splits }) => ({ text: marks.reduce<string>((filled, mark) => filled.replaceAll(mark, UNKNOWN), text), splits }));
}

function marksIn(before: ShellWord[]): string[] {
  return before.flatMap(({ text }, index) => {
    const [, letter, own = ''] = /^(?:-[^-]*?([Ii])|--rep[a-z]*=?)(.*)$/s.exec(text) ?? [];
    if (letter === undefined && !text.startsWith('--rep')) return [];
    return [own || (letter === 'I' ? (before[index + 1]?.text ?? '{}') : '{}')];
  });
}

/** Whether the shell may insert words before the command, and with them another command. */
function isOpen(before: ShellWord[], end: number): boolean {
  return before.some(({ splits, text }, index) => text.includes(UNKNOWN) && (splits || (index < end && text.startsWith(UNKNOWN))));
}

/** Searches a command at each of the words, because it is not known where the command begins. */
export function everyTail(search: Search, words: ShellWord[]): void {
  if (search.tailsAreSearched) return;
  search.softly((soft) => {
    soft.tailsAreSearched = true;
    for (const [index, { text }] of words.entries()) {
      if (soft.isExhausted) return;
      if (/\s/.test(text)) soft.text(text, true);
      if (!text.startsWith('-')) soft.words(words.slice(index));
    }
  });
  if (search.isExhausted) notKnown(search, 'a command that is too large to be read');
  if (words.some(({ text, splits }) => splits && text.startsWith(UNKNOWN))) notKnown(search, 'a command that runs another one');
}
