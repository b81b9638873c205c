import type { Redirection } from 'unbash';
import { behindExport, behindGit, behindOptions, behindPackageManager, behindScheduler } from './behind-options.ts';
import { behindFile, behindShell } from './behind-shell.ts';
import { ANYTHING, behindWrapper, everyTail } from './behind-wrapper.ts';
import { joinedWords, notKnown, OPAQUE, type Behind, type Search } from './search.ts';
import { UNKNOWN, type ShellWord } from './word-text.ts';
import { LOOSE_WRAPPERS, SHELLS, WRAPPERS } from './wrappers.ts';

type FindCommands = (search: Search, words: ShellWord[], redirects: readonly Redirection[]) => void;

const FINDERS: ReadonlyMap<string, FindCommands> = new Map<string, FindCommands>([
  ...[...SHELLS].map((name) => [name, behindShell] as const),
  ...[...LOOSE_WRAPPERS].map((name) => [name, everyTail] as const),
  ['eval', (search, words) => search.text(joinedWords(words[0]?.text === '--' ? words.slice(1) : words))],
  ['trap', behindTrap],
  ['alias', behindAlias],
  ['.', behindFile],
  ['source', behindFile],
  ['hash', behindHash],
  ['find', (search, words) => behindFind(search, words, [])],
  ['git', behindGit],
  ['ssh', behindSsh],
  ...['tar', 'rsync', 'make', 'gmake', 'pwsh', 'split', 'scp', 'sftp', 'zip'].map((name) => [name, behindOptions] as const),
  ...['npm', 'pnpm', 'yarn', 'bun'].map((name) => [name, behindPackageManager] as const),
  ...['at', 'batch', 'crontab'].map((name) => [name, behindScheduler] as const),
  ...['export', 'declare', 'typeset', 'readonly', 'local'].map((name) => [name, behindExport] as const),
  // Both make a key or a name run something later.
  ...['bind', 'enable'].map((name) => [name, (search: Search) => notKnown(search, `"${name}"`)] as const),
  ['fd', (search, words) => behindFind(search, words, [ANYTHING])],
  ['fdfind', (search, words) => behindFind(search, words, [ANYTHING])],
]);

/** Finds the commands that a command runs in turn: those of shells, `eval`, `env`, `xargs`, `find -exec` and the like. */
export function searchBehind(search: Search, base: string, words: ShellWord[], redirects: readonly Redirection[]): Behind {
  const wrapper = WRAPPERS.get(base);
  if (wrapper) return behindWrapper(search, wrapper, words);
  const find = FINDERS.get(base) ?? (/^ld(-.*)?\.so/.test(base) ? everyTail : undefined);
  find?.(search, words, redirects);
  return OPAQUE;
}

/** The command for the other machine, and those in options, such as `-o ProxyCommand=…`. */
function behindSsh(search: Search, words: ShellWord[]): void {
  everyTail(search, words);
  behindOptions(search, words);
}

function behindTrap(search: Search, words: ShellWord[]): void {
  const action = words.find(({ text }) => text !== '--' && !/^-[lp]$/.test(text));
  if (action && action.text !== '-') search.text(action.text);
}

/** The shell appends the words after an alias to the alias's text. */
function behindAlias(search: Search, words: ShellWord[]): void {
  for (const { text } of words) {
    if (text.includes(UNKNOWN)) notKnown(search, '"alias"');
    else if (text.includes('=')) search.text(`${text.slice(text.indexOf('=') + 1)} "$@"`);
  }
}

/** After `hash -p PATH NAME`, NAME runs the program at PATH. */
function behindHash(search: Search, words: ShellWord[]): void {
  const at = words.findIndex(({ text }) => /^-[a-z]*p$/.test(text));
  const path = words[at + 1];
  if (at !== -1 && path) search.words([path, ANYTHING]);
  else if (words.some(({ text }) => text.includes(UNKNOWN) || /^-[a-z]*p./.test(text))) notKnown(search, '"hash"');
}

const EXEC = /^(-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch)$/;

/** @param added words that the program itself appends to a command */
function behindFind(search: Search, words: ShellWord[], added: ShellWord[]): void {
  const starts = words.flatMap(({ text }, index) => (EXEC.test(text) ? [index] : []));
  for (const start of starts) {
    if (search.isExhausted) return;
    const rest = words.slice(start + 1);
    const end = rest.findIndex(({ text }) => text === ';' || text === '+');
    const command = end === -1 ? rest : rest.slice(0, end);
    search.words([...command.map(({ text, splits }) => ({ text: text.replaceAll('{}', UNKNOWN), splits })), ...added]);
  }
  const isHidden = starts.length === 0 && words.some(({ text }) => text === ';' || text === '+');
  if (isHidden || words.some(({ text, splits }) => splits && text.startsWith(UNKNOWN))) notKnown(search, '"find"');
}
