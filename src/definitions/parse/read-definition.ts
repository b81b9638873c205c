import { basename, dirname } from 'node:path';
import { isCollection, isScalar, type Document, type LineCounter } from 'yaml';
import { readEnvironment } from '../../platform/config.ts';
import { readTextFile } from '../../platform/read-yaml-file.ts';
import { failure } from '../../contracts/errors.ts';
import { readYaml, type YamlProblem } from '../../common/yaml-document.ts';
import { fillInEnvironment, type Treatment } from '../../common/fill-in-environment.ts';
import type { DefinitionSource } from './invalid-definition.ts';

/** Workers need every variable. Clients do not: they only need an agent's id and limits, and must not need its secrets. */
export type Unset = 'refuse' | 'leave';

/**
 * Reads a YAML file and fills in the environment. Errors of this function and of later checks name file and line.
 * @param treat where references to the environment stay as they are written
 * @param unset what happens to references to variables that are not set; `missing` has an error for each one that was left
 */
export async function readDefinition(
  path: string,
  code: DefinitionSource['code'],
  treat: (path: PropertyKey[]) => Treatment,
  unset: Unset = 'refuse',
): Promise<{ filled: unknown; source: DefinitionSource; missing: Error[] }> {
  const file = basename(path);
  const found = await readTextFile(path);
  if (!('text' in found)) throw failure(code, { file, path: '(the whole file)', problem: found.problem, fix: found.fix }, found.cause);
  const read = readYaml(found.text);
  if (!('value' in read)) throw unusable(read, file, code);
  const { document, lines, value: written } = read;
  const source: DefinitionSource = { code, file, directory: dirname(path), written, locate: (at) => withLine(file, document, lines, at) };
  const missing: Error[] = [];
  const onMissing = (name: string, at: PropertyKey[]): Error | string => {
    const error = failure(code, {
      file: source.locate(at),
      path: at.join('.'),
      problem: `the environment variable ${name} is not set`,
      fix: `Set ${name} for the worker, or write the value into the file`,
    });
    if (unset === 'refuse') return error;
    missing.push(error);
    return `\${env.${name}}`;
  };
  return { filled: fillInEnvironment(written, readEnvironment, onMissing, treat), source, missing };
}

function unusable(problem: YamlProblem, file: string, code: DefinitionSource['code']): Error {
  const path = '(the whole file)';
  if ('aliases' in problem) {
    const { aliases, cause } = problem;
    return failure(code, { file, path, problem: `its aliases cannot be resolved (${aliases})`, fix: 'Write out what the aliases stand for' }, cause);
  }
  const { syntax, line } = problem;
  return failure(code, { file: line === undefined ? file : `${file}:${line}`, path, problem: `is not YAML (${syntax})`, fix: 'Correct that line' });
}

/** A reference that was left in place of a number or an address makes a definition invalid; the error then names the variable that is not set. */
export function parsedUnless<T>(missing: Error[], parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw missing[0] ?? error;
  }
}

/** `file:line` of a path, or of its nearest parent that is in the file. */
function withLine(file: string, document: Document, lines: LineCounter, path: PropertyKey[]): string {
  for (let length = path.length; length > 0; length -= 1) {
    const offset = offsetOf(document, path.slice(0, length));
    if (offset !== undefined) return `${file}:${lines.linePos(offset).line}`;
  }
  return file;
}

function offsetOf(document: Document, path: PropertyKey[]): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isCollection(parent)) return undefined;
  const last = path.at(-1);
  for (const [index, item] of parent.items.entries()) {
    if (index === last) return (item as { range?: [number, number, number] }).range?.[0];
    const key = (item as { key?: unknown }).key;
    if (isScalar(key) && key.value === last) return key.range?.[0];
  }
  return undefined;
}
