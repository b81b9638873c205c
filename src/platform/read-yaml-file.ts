import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { z } from 'zod';
import { readYaml } from '../common/yaml-document.ts';
import { systemProblem } from './system-problem.ts';

/** Longer files are not read: `readYaml` takes a million characters, and each has four bytes at most. */
const MOST_BYTES = 4_000_000;

/** A problem of a file, in words, and what to do. */
export interface TextProblem {
  problem: string;
  fix: string;
  cause?: unknown;
}

/** The text of a file that people write. Bytes that are no UTF-8 are a problem: read as text, they would be replaced, and be gone when the file is written again. */
export async function readTextFile(path: string): Promise<{ text: string } | TextProblem> {
  try {
    // A pipe is not waited for.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) return { problem: 'it is no regular file', fix: 'Remove it, or give it another name' };
    if (facts.size > MOST_BYTES) return { problem: `it has ${facts.size} bytes, and ${MOST_BYTES} are read at most`, fix: 'Make it smaller' };
    const bytes = await file.readFile();
    try {
      // The mark at its beginning stays, so that the file can be written again as it was.
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
    } catch (cause) {
      return { problem: 'it is no text in UTF-8', fix: 'Store it as text in UTF-8', cause };
    }
  } catch (cause) {
    return { problem: `it cannot be read (${systemProblem(cause)})`, fix: 'Correct that, or remove it', cause };
  }
}

/** Reads and checks a file of YAML or JSON. Throws what `unusable` makes of a problem, which names the path in the file and the line where they are known. */
export async function readYamlFile<T>(file: string, schema: z.ZodType<T>, unusable: (problem: string, cause?: unknown) => Error): Promise<T> {
  const found = await readTextFile(file);
  if (!('text' in found)) throw unusable(found.problem, found.cause);
  const read = readYaml(found.text);
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
