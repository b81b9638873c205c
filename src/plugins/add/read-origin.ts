import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { showValue } from '../../common/show-value.ts';
import { failure } from '../../contracts/errors.ts';

/** Where the files of a plugin come from. */
export type PluginOrigin =
  | { kind: 'directory'; path: string }
  /** Of the npm registry; `wanted` is a version or a tag. */
  | { kind: 'package'; name: string; wanted?: string }
  /** Of git; `ref` is a branch, a tag or a commit. */
  | { kind: 'repository'; url: string; ref?: string };

const PACKAGE = /^((?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*)(?:@([A-Za-z0-9][A-Za-z0-9._+-]*))?$/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** Of what git allows, only what cannot be an option, a range or a pair of names. */
const REF = /^(?![-+/.])(?!.*(?:\.\.|@\{))[^\s\p{C}~^:?*[\\]{1,200}$/u;

/**
 * Reads what a person writes for a plugin: a directory, a package of npm or an address of git. A name that is both a directory here and a package means the
 * directory.
 * @throws INVALID_ARGUMENT
 */
export async function readOrigin(text: string, directory: string): Promise<PluginOrigin> {
  if (text === '') throw refused(text, 'is neither a directory nor the name of a package');
  if (SCHEME.test(text)) return repositoryOf(text);
  if (isAbsolute(text) || text.startsWith('.') || (await isDirectory(resolve(directory, text)))) return { kind: 'directory', path: resolve(directory, text) };
  const [, name, wanted] = PACKAGE.exec(text) ?? [];
  if (name !== undefined) return { kind: 'package', name, ...(wanted !== undefined && { wanted }) };
  throw refused(text, 'is neither a directory nor the name of a package');
}

/** The name for the directory of a plugin that gives itself no id. */
export function nameOfOrigin(origin: PluginOrigin): string {
  const whole = origin.kind === 'directory' ? origin.path : origin.kind === 'package' ? origin.name : new URL(origin.url).pathname;
  const last = whole.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const usable = last
    .replace(/\.git$/, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '');
  return isForPackages(usable) ? 'plugin' : usable.slice(0, 60) || 'plugin';
}

/** Whether a directory of this name would be searched for the packages of all plugins beside it. */
export function isForPackages(name: string): boolean {
  return name.toLowerCase() === 'node_modules';
}

function repositoryOf(text: string): PluginOrigin {
  const at = text.indexOf('#');
  const [url, ref] = at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  if (!/^(?:https:\/\/[^/]|file:\/\/\/)/.test(url) || !URL.canParse(url)) throw refused(text, 'is an address of a kind that is not taken');
  const { username, password } = new URL(url);
  // They would be written into the files of agents.
  if (username !== '' || password !== '')
    throw refused(text.replace(/\/\/[^/]*@/, '//…@'), 'has a user or a password, which git should ask its credential helper for');
  if (ref !== undefined && !REF.test(ref)) throw refused(text, 'has no branch, tag or commit behind its #');
  return { kind: 'repository', url, ...(ref !== undefined && { ref }) };
}

function refused(text: string, problem: string): Error {
  const fix = 'Give a directory (./words), a package of npm (words, words@1.2.3) or an address of git (https:// or file:///, with #branch, #tag or #commit)';
  return failure('INVALID_ARGUMENT', { what: 'source', problem: `${showValue(text)} ${problem}`, fix });
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
