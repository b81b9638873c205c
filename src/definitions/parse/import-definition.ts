import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { DefinitionSource } from './invalid-definition.ts';

/** The default export of a file that is an agent or a template. @throws the error of what defines it, or one that names the file and the line */
export async function importDefinition<T>(path: string, code: DefinitionSource['code']): Promise<Partial<T>> {
  try {
    return ((await import(pathToFileURL(path).href)) as { default?: Partial<T> }).default ?? {};
  } catch (error) {
    throw isFailure(error) ? error : notImported(path, code, error);
  }
}

export function notImported(path: string, code: DefinitionSource['code'], error: unknown): Error {
  const { code: reason, stack = '' } = (error ?? {}) as { code?: unknown; stack?: string };
  // A stack names a file by its address, or by its path.
  const [line] = [pathToFileURL(path).href, path].flatMap((name) => /^:(\d+)/.exec(stack.split(name)[1] ?? '')?.[1] ?? []);
  const file = line === undefined ? basename(path) : `${basename(path)}:${line}`;
  const fix =
    reason === 'ERR_UNKNOWN_FILE_EXTENSION' ? 'Node reads TypeScript from 22.18 on: use it, start the program with tsx, or write a .mjs file' : 'Correct it';
  return failure(
    code,
    { file, path: '(the whole file)', problem: `cannot be imported (${error instanceof Error ? error.message : String(error)})`, fix },
    error,
  );
}
