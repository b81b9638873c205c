import type { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import { isUnnamedUnion, worstIssue } from '../../common/given/meant-issue.ts';
import { nearest } from '../../common/nearest.ts';
import { plainValue } from './plain-value.ts';

/** The source of a definition, for its relative paths and for errors. */
export interface DefinitionSource {
  code: 'AGENT_INVALID' | 'TEMPLATE_INVALID';
  /** Name of the file in errors. */
  file: string;
  /** Relative plugins and scripts are looked for here. */
  directory: string;
  /** The value as written, before the environment was filled in. Errors show this value, so that they contain no secret. */
  written: unknown;
  /** Adds the line to `file` when it is known. */
  locate(path: PropertyKey[]): string;
}

/** A copy of the definition; using it runs no code of the caller. */
export function plainDefinition(definition: unknown, source: DefinitionSource): unknown {
  const plain = plainValue(definition);
  if ('value' in plain) return plain.value;
  const { path, problem, fix } = plain.fault;
  throw failure(source.code, { file: source.locate(path), path: pathText(path), problem, fix });
}

/** The error for the first invalid part, with path, value and fix. A misspelt key comes first: the one that was meant counts as missing because of it. */
export function invalidDefinition(schema: z.ZodType, error: z.ZodError, source: DefinitionSource): Error {
  const issue = worstIssue(error.issues);
  if (!issue) return error;
  if (issue.code === 'unrecognized_keys') return unknownKey(schema, issue, source);
  const at = { file: source.locate(issue.path), path: pathText(issue.path) };
  const written = valueAt(source.written, issue.path);
  const problem = written === undefined ? 'is missing' : `${shorten(written)} is not usable`;
  return failure(source.code, { ...at, problem, fix: `"${String(issue.path.at(-1) ?? 'definition')}": ${wordsOf(issue)}` });
}

/** What a value has to be, in the words of YAML; the schema's own words where it has some. */
function wordsOf(issue: z.core.$ZodIssue): string {
  if (isUnnamedUnion(issue)) return `has to be ${[...new Set(issue.errors.flatMap(([first]) => (first ? kindsOf(first) : [])))].join(' or ')}`;
  if (!/^Invalid (?:input|option): expected /.test(issue.message)) return issue.message;
  const kinds = kindsOf(issue);
  return kinds.length === 0 ? issue.message : `has to be ${kinds.join(' or ')}`;
}

function kindsOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_type') return [TYPES[issue.expected] ?? issue.expected];
  return issue.code === 'invalid_value' ? issue.values.map(String) : [];
}

const TYPES: Record<string, string> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list, such as [a, b]',
  object: 'a map of keys, such as { key: value }',
  record: 'a map of keys, such as { key: value }',
};

function unknownKey(schema: z.ZodType, issue: Extract<z.core.$ZodIssue, { code: 'unrecognized_keys' }>, source: DefinitionSource): Error {
  const key = issue.keys[0] ?? '';
  const path = [...issue.path, key];
  const known = knownKeys(schema, issue.path);
  const guess = nearest(key, known);
  const fix = `${guess === undefined ? '' : `Did you mean "${guess}"? `}Known here: ${known.join(', ')}`;
  return failure(source.code, { file: source.locate(path), path: pathText(path), problem: 'this key is not known', fix });
}

/** Keys that the schema knows at a path; zod's issue names only the unknown ones. */
function knownKeys(schema: z.ZodType, path: PropertyKey[]): string[] {
  return Object.keys(shapeOf(path.reduce<unknown>(partOf, schema)));
}

function partOf(of: unknown, part: PropertyKey): unknown {
  const type = unwrap(of) as { element?: unknown; def?: { valueType?: unknown } } | undefined;
  return type?.element ?? shapeOf(type)[String(part)] ?? type?.def?.valueType;
}

/** The keys of an object; for a union, the keys of all its options. */
function shapeOf(of: unknown): Record<string, unknown> {
  const type = unwrap(of) as { shape?: Record<string, unknown>; def?: { options?: unknown[] } } | undefined;
  return type?.shape ?? Object.assign({}, ...(type?.def?.options ?? []).map(shapeOf));
}

/** Removes wrappers such as defaults, and what is made of a value once it is checked. */
function unwrap(type: unknown): unknown {
  const def = (type as { def?: { type?: string; innerType?: unknown; in?: unknown } } | undefined)?.def;
  const inner = def?.type === 'pipe' ? def.in : def?.innerType;
  return inner === undefined ? type : unwrap(inner);
}

function pathText(path: PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '') || '(the whole file)';
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((at, part) => (at !== null && typeof at === 'object' ? (at as Record<PropertyKey, unknown>)[part] : undefined), value);
}

function shorten(value: unknown): string {
  // JSON has no `Infinity`.
  if (typeof value === 'number') return String(value);
  return cutMiddle(JSON.stringify(value) ?? String(value), 100);
}
