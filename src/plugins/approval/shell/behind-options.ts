import { everyTail } from './behind-wrapper.ts';
import { notKnown, type Search } from './search.ts';
import type { ShellWord } from './word-text.ts';

/** Variables whose value other programs run as a command. */
const PROGRAM_VARIABLE = /(?:PAGER|EDITOR|VISUAL|BROWSER|_COMMAND|_SSH|_RSH|ASKPASS|LESSOPEN|LESSCLOSE|^SHELL|^GIT_EXTERNAL_DIFF|^GIT_CONFIG_VALUE_\d+)$/;

/** `EDITOR='rm x' git commit`, and the same assignment after `env`, `export` and similar commands. */
export function behindVariable(search: Search, assignment: string): void {
  const at = assignment.indexOf('=');
  const [name, value] = at === -1 ? [assignment, ''] : [assignment.slice(0, at).replace(/\+$/, ''), assignment.slice(at + 1)];
  if (name === 'BASH_ENV') notKnown(search, 'a shell with BASH_ENV');
  // A function that the next bash takes over from its environment.
  else if (name.startsWith('BASH_FUNC_')) notKnown(search, 'a shell with functions of its environment');
  else if (name === 'GIT_CONFIG_PARAMETERS') notKnown(search, 'git with settings of its environment');
  else if (PROGRAM_VARIABLE.test(name)) search.text(value.replace(/^!/, ''), true);
}

export function behindExport(search: Search, words: ShellWord[]): void {
  for (const { text } of words) behindVariable(search, text);
}

/** Programs that run the value of an option as a command, such as `tar --to-command='rm x'`, `rsync -e 'rm x'` and `make SHELL='rm x'`. */
export function behindOptions(search: Search, words: ShellWord[]): void {
  for (const [index, { text }] of words.entries()) {
    if (search.isExhausted) return;
    const value = /^[\w.-]+=(.*)$/s.exec(text)?.[1] ?? (words[index - 1]?.text.startsWith('-') ? text : '');
    // `--checkpoint-action=exec=…`
    search.text(value.replace(/^exec=/, ''), true);
  }
}

const RUNS_VALUE = /^(?:-c|-x|-O|--exec|--upload-pack|--receive-pack|--open-files-in-pager)$/;
const RUNS_OWN_VALUE = /^(?:-[cxO]|--exec=|--upload-pack=|--receive-pack=|--open-files-in-pager=)(.+)$/s;

/** Commands in aliases and settings of the command line, in `rebase --exec`, `bisect run` and `submodule foreach`. */
export function behindGit(search: Search, words: ShellWord[]): void {
  const texts = words.map(({ text }) => text);
  for (const [index, text] of texts.entries()) {
    if (search.isExhausted) return;
    if (text.startsWith('--config-env')) notKnown(search, 'git with settings of its environment');
    // `git config alias.z '!rm x'`
    if (text.startsWith('!')) search.text(text.slice(1), true);
    const value = RUNS_OWN_VALUE.exec(text)?.[1] ?? (RUNS_VALUE.test(texts[index - 1] ?? '') ? text : undefined);
    // `-c alias.z='!rm x'`; an alias without `!` is a git command.
    if (value !== undefined) search.text(value.replace(/^[\w.-]+=!?/, ''), true);
  }
  const runs = texts.findIndex((text, index) => (text === 'run' && texts.includes('bisect')) || (text === 'foreach' && index > 0));
  if (runs !== -1) everyTail(search, words.slice(runs + 1));
}

const RUNS_PROGRAM = new Set(['exec', 'x', 'dlx']);

/** `npm exec rm x` and similar commands. `npm run` is not searched: its commands are in a file. */
export function behindPackageManager(search: Search, words: ShellWord[]): void {
  const runs = words.findIndex(({ text }) => RUNS_PROGRAM.has(text));
  if (runs !== -1) everyTail(search, words.slice(runs + 1));
}

/** Schedulers run commands later, and read most of them from their input. */
export function behindScheduler(search: Search, words: ShellWord[]): void {
  if (!words.some(({ text }) => text === '-l' || text === '-r')) notKnown(search, 'a scheduler');
}
