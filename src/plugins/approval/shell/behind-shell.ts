import type { Redirection } from 'unbash';
import { notKnown, type Search } from './search.ts';
import { UNKNOWN, wordOf, type ShellWord } from './word-text.ts';

const WITH_VALUE = new Set(['-o', '+o', '-O', '+O', '--rcfile', '--init-file']);
/** Files whose content comes from the command itself or from another process. */
const STREAM = /^\/(dev|proc)\//;

/** A shell runs the text after `-c`, its input, or a file. The content of a file is not known here. */
export function behindShell(search: Search, words: ShellWord[], redirects: readonly Redirection[]): void {
  const end = endOfOptions(words);
  const options = words.slice(0, end).map(({ text }) => text);
  const has = (letter: string) => options.some((text) => /^-[a-zA-Z]+$/.test(text) && text.includes(letter));
  const operand = words[end];
  if (words.slice(0, end + 1).some(({ text, splits }) => splits && text.includes(UNKNOWN))) notKnown(search, 'a shell');
  else if (has('c')) search.text(operand?.text ?? '');
  else if (!operand || has('s')) behindInput(search, redirects);
  else if (operand.text.includes(UNKNOWN) || STREAM.test(operand.text)) notKnown(search, 'a shell');
}

function endOfOptions(words: ShellWord[]): number {
  for (let index = 0; index < words.length; index += 1) {
    const text = words[index]?.text ?? '';
    if (text === '--' || text === '-') return index + 1;
    if (!/^[-+]./.test(text)) return index;
    if (WITH_VALUE.has(text)) index += 1;
  }
  return words.length;
}

function behindInput(search: Search, redirects: readonly Redirection[]): void {
  const input = redirects.findLast((each) => each.type !== 'Redirect' || each.operator === '<' || each.operator === '<&');
  const text = input && textOf(input);
  if (text === undefined) notKnown(search, 'a shell that reads its commands from its input');
  else if (input?.type !== 'Redirect') search.text(text);
  else if (input.operator === '<&' || text.includes(UNKNOWN) || STREAM.test(text)) notKnown(search, 'a shell');
}

/** The text of a here-document or here-string, or the name of a file. */
function textOf(input: Redirection): string | undefined {
  if (input.type !== 'HereDoc') return input.target && wordOf(input.target).text;
  const { parts, text } = input.body;
  return parts ? wordOf({ value: text, parts }).text : text;
}

/** `.` and `source`. */
export function behindFile(search: Search, words: ShellWord[]): void {
  const file = words.find(({ text }) => text !== '--');
  if (file && (file.text.includes(UNKNOWN) || STREAM.test(file.text))) notKnown(search, 'a file that is read as commands');
}
