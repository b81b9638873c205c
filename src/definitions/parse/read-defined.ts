import { failure } from '../../contracts/errors.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { DefinitionSource } from './invalid-definition.ts';
import { plainValue } from './plain-value.ts';

interface Kind {
  code: DefinitionSource['code'];
  kind: string;
  /** The key that holds its name. */
  idKey: string;
}

/** Reads the arguments of `defineAgent` or `defineTemplate`, whose callers may be plain JavaScript. */
export function readDefined(definition: unknown, options: unknown, { code, kind, idKey }: Kind): { written: unknown; file: string; directory: string } {
  const refuse = (file: string, path: string, problem: string, fix: string) => failure(code, { file, path, problem, fix });
  const plain = plainValue(definition);
  if ('fault' in plain) {
    const { path, problem, fix } = plain.fault;
    throw refuse(`${kind} given in code`, path.map(String).join('.') || '(the whole definition)', problem, fix);
  }
  const id = (plain.value as Record<string, unknown> | null | undefined)?.[idKey];
  const file = typeof id === 'string' ? `${kind} "${cutMiddle(id, 80)}"` : `${kind} without ${idKey}`;
  const given = plainValue(options);
  const directory = 'value' in given ? ((given.value as { directory?: unknown } | null)?.directory ?? process.cwd()) : undefined;
  if (typeof directory === 'string') return { written: plain.value, file, directory };
  throw refuse(file, 'directory', 'is not a path of this machine', "Give the second argument as { directory: '/path' }, or leave it out");
}
