import { UNKNOWN } from './word-text.ts';

const NAME = /^[A-Za-z_]\w*$/;
const DECLARING = new Set(['declare', 'typeset', 'local', 'export', 'readonly']);
const NAMING = new Set(['read', 'unset', 'mapfile', 'readarray', 'getopts', 'wait']);
const NAMED_BY_OPTION = new Set(['printf', 'test', '[']);
const READING = new Set(['read', 'mapfile', 'readarray']);
/** An option of `read` that takes a value, with the value where it is in the same word. */
const VALUE_OF_READ = /^-[^adinNptu]*([adinNptu])(.*)$/s;

/** Whether a builtin evaluates a name that it is given, or values of a variable from now on. */
export function evaluatesNames(builtin: string, words: string[]): boolean {
  if (builtin === 'let') return true;
  if (NAMING.has(builtin)) return words.some(mayHaveSubscript);
  if (NAMED_BY_OPTION.has(builtin)) return words.some((word) => /^-[vR]/.test(word)) && words.some(mayHaveSubscript);
  return DECLARING.has(builtin) && words.some(isEvaluatedDeclaration);
}

/** Whether it sets variables to what its input says. */
export function readsInput(builtin: string): boolean {
  return READING.has(builtin);
}

/** The variables that `printf -v` and `read` set. */
export function variablesSetBy(builtin: string, words: string[]): string[] {
  const found = builtin === 'printf' ? namesOfPrintf(words) : builtin === 'read' ? namesOfRead(words) : [];
  return found.map((name) => name.replace(/\[.*/s, '')).filter((name) => NAME.test(name));
}

function mayHaveSubscript(word: string): boolean {
  return word.includes('[') || word.includes(UNKNOWN);
}

/** `-i` and `-n` have values evaluated later, `-a` and `-A` elements of lists; a list may also be in quotes. */
function isEvaluatedDeclaration(word: string): boolean {
  return /^[-+][A-Za-z]*[aAin]/.test(word) || /^\w+\+?=\(/.test(word) || mayHaveSubscript(word.split('=')[0] ?? '');
}

function namesOfPrintf([first = '', second = '']: string[]): string[] {
  return first === '-v' ? [second] : first.startsWith('-v') ? [first.slice(2)] : [];
}

function namesOfRead(words: string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') return [...found, ...words.slice(at + 1)];
    if (!/^-./.test(word)) return [...found, ...words.slice(at)];
    const [, letter, own] = VALUE_OF_READ.exec(word) ?? [];
    if (letter === undefined) continue;
    const value = own || (words[(at += 1)] ?? '');
    if (letter === 'a') found.push(value);
  }
  return found;
}
