import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { readYaml } from '../common/yaml-document.ts';

/** Reads and checks a file of YAML or JSON. Throws what `unusable` makes of a problem, which names the path in the file and the line where they are known. */
export async function readYamlFile<T>(file: string, schema: z.ZodType<T>, unusable: (problem: string, cause?: unknown) => Error): Promise<T> {
  const read = readYaml(await readText(file, unusable));
  if ('syntax' in read) throw unusable(`it is not YAML (${read.syntax})`);
  if ('aliases' in read) throw unusable(`its aliases cannot be resolved (${read.aliases})`, read.cause);
  const { document, lines, value } = read;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
  const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
  const line = node?.range ? ` (line ${lines.linePos(node.range[0]).line})` : '';
  throw unusable(`${path.join('.') || 'the file'}${line}: ${issue?.message}`);
}

async function readText(file: string, unusable: (problem: string, cause?: unknown) => Error): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unusable((error as Error).message, error);
  }
}
