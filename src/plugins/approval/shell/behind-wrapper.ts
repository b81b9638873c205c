import { readWrapperOptions, scriptsAfter } from './read-options.ts';
import { joinedWords, notKnown, OPAQUE, type Behind, type Search } from './search.ts';
import { UNKNOWN, type ShellWord } from './word-text.ts';
import type { Wrapper } from './wrappers.ts';

export const ANYTHING: ShellWord = { text: UNKNOWN, splits: true };

/** The command that a wrapper runs follows the wrapper's own options and operands. */
export function behindWrapper(search: Search, wrapper: Wrapper, words: ShellWord[]): Behind {
  const options = readWrapperOptions(wrapper, words);
  for (const script of [...options.scripts, ...scriptsAfter(wrapper, words.slice(options.end))]) search.text(wrapper.adds ? `${script} ""` : script);
  const start = startOf(wrapper, words, options.end);
  if (wrapper.assigns) for (const { text } of words.slice(options.end, start)) search.variable(text);
  if (isOpen(words.slice(0, start), options.end)) notKnown(search, 'a command with options that the shell puts in');
  if (options.isUnsure) everyTail(search, words);
  if (words.length <= start) return OPAQUE;
  const inner = words.slice(start);
  if (wrapper.joins) {
    search.text(joinedWords(inner));
    // `parallel ::: 'rm x'`
    everyTail(search, inner);
  }
  search.words(wrapper.adds ? [...inner, ANYTHING] : inner);
  return { isTransparent: wrapper.isTransparent === true && !options.isUnsure };
}

function startOf({ operands = 0, assigns = false }: Wrapper, words: ShellWord[], end: number): number {
  let start = end;
  if (assigns) while (/^\w+=/.test(words[start]?.text ?? '')) start += 1;
  return start + operands;
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
