import type { Wrapper } from './wrappers.ts';
import type { ShellWord } from './word-text.ts';

export interface Options {
  /** Index of the first word that is not an option. */
  end: number;
  /** Values that a shell runs. */
  scripts: string[];
  /** It has options that are not known, which may or may not take a value. */
  isUnsure: boolean;
}

interface Option {
  name: string;
  value: string | undefined;
  takesNext: boolean;
  isKnown: boolean;
}

/** Reads the options that stand before a wrapper's command. */
export function readWrapperOptions(wrapper: Wrapper, words: ShellWord[]): Options {
  const options: Options = { end: 0, scripts: [], isUnsure: false };
  for (; options.end < words.length; options.end += 1) {
    const text = words[options.end]?.text ?? '';
    if (text === '--') return { ...options, end: options.end + 1 };
    if (!/^-./.test(text)) return options;
    const { name, value, takesNext, isKnown } = optionOf(text, wrapper);
    options.isUnsure ||= !isKnown;
    if (takesNext) options.end += 1;
    if (isScript(name, wrapper)) options.scripts.push(value ?? words[options.end]?.text ?? '');
  }
  return options;
}

/** Some wrappers accept options after their operands too. */
export function scriptsAfter(wrapper: Wrapper, words: ShellWord[]): string[] {
  return words.flatMap(({ text }, index) => {
    if (!/^-./.test(text)) return [];
    const { name, value } = optionOf(text, wrapper);
    return isScript(name, wrapper) ? [value ?? words[index + 1]?.text ?? ''] : [];
  });
}

/** They may be abbreviated. */
const LONG_SCRIPTS = ['--command', '--session-command', '--split-string'];

function isScript(name: string, { script }: Wrapper): boolean {
  return script !== undefined && (name === script || (/^--./.test(name) && LONG_SCRIPTS.some((long) => long.startsWith(name))));
}

function optionOf(text: string, wrapper: Wrapper): Option {
  return text.startsWith('--') ? longOption(text, wrapper) : shortOption(text, wrapper);
}

function longOption(text: string, { longValues = [] }: Wrapper): Option {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  const takesNext = at === -1 && longValues.includes(name);
  return { name, value: at === -1 ? undefined : text.slice(at + 1), takesNext, isKnown: at !== -1 || takesNext };
}

/** The first option that takes a value in a cluster such as `-abVALUE`, with the rest of the cluster as its value. */
function shortOption(text: string, { values = '' }: Wrapper): Option {
  for (let at = 1; at < text.length; at += 1) {
    const name = text.charAt(at);
    const value = text.slice(at + 1);
    if (values.includes(name)) return { name, value: value === '' ? undefined : value, takesNext: value === '', isKnown: at === 1 };
  }
  return { name: '', value: undefined, takesNext: false, isKnown: false };
}
