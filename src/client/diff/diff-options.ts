import { z } from 'zod';
import { name, readOptions, textSchema } from '../../common/arguments.ts';
import { MOST_DIFF_PATHS, type DiffOptions } from '../../contracts/checkpoints/diff.ts';
import { failure } from '../../contracts/errors.ts';

const MOST_PATH_CHARACTERS = 4000;
const HOME = '/home/user';

const diff = z.strictObject({
  from: name.optional(),
  to: name.optional(),
  paths: z.array(textSchema(MOST_PATH_CHARACTERS)).max(MOST_DIFF_PATHS, `give up to ${MOST_DIFF_PATHS} paths`).optional(),
  patch: z.boolean({ error: 'give true or false' }).optional(),
});

/** The options, with paths as they are below the home directory. */
export function diffOptions(given: unknown): DiffOptions {
  const { paths = [], ...options } = readOptions('options of diff', diff, given) as DiffOptions;
  const named = paths.map(belowHome);
  // The home directory itself is all of it.
  return named.length === 0 || named.includes('') ? options : { ...options, paths: named };
}

function belowHome(path: string): string {
  const isOfHome = path === HOME || path.startsWith(`${HOME}/`);
  const parts = (isOfHome ? path.slice(HOME.length) : path).split('/').filter((part) => part !== '' && part !== '.');
  if (!parts.includes('..') && (isOfHome || !path.startsWith('/'))) return parts.join('/');
  throw failure('INVALID_ARGUMENT', { what: 'options of diff.paths', problem: 'a path leads out of the home directory', fix: `Give a path below ${HOME}` });
}
