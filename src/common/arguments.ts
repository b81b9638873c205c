import { z } from 'zod';
import { knownOptions } from './given/known-options.ts';
import { isUnnamedUnion, worstIssue } from './given/meant-issue.ts';
import { noJsonIn } from './given/no-json-in.ts';
import { withoutUndefined } from './without-undefined.ts';
import { failure } from '../contracts/errors.ts';
import { excessOfValue } from '../contracts/foreign-json.ts';
import { unstorable } from '../contracts/visible-text.ts';
import { showValue } from './show-value.ts';

/** Checks an argument of a caller that may be plain JavaScript. @throws INVALID_ARGUMENT naming the argument, its value and what to give instead */
export function read<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = tryParse(what, schema, value);
  if ('data' in parsed) return parsed.data;
  const issue = worstIssue(parsed.issues);
  const path = [what, ...(issue?.path ?? []).map(String)].join('.');
  if (issue?.code === 'unrecognized_keys') {
    const problem = `${shownKeys(issue.keys)} is no option`;
    const known = knownOptions(schema, issue.path) ?? ['what the guide names'];
    throw failure('INVALID_ARGUMENT', { what: path, problem, fix: known.length === 0 ? 'Leave it out' : `Use ${known.join(', ')}` });
  }
  const problem = issue?.code === 'custom' ? issue.message : `it is ${showValue(issue?.input)}`;
  throw failure('INVALID_ARGUMENT', { what: path, problem, fix: fixOf(issue) });
}

/** The same as `read`, for an object of options. An option whose value is undefined counts as not given. */
export function readOptions<T extends object>(what: string, schema: z.ZodType<T>, value: unknown = {}) {
  return withoutUndefined(read(what, schema, value));
}

/** A getter or a proxy may throw any value, and an object may contain itself. */
function tryParse<T>(what: string, schema: z.ZodType<T>, value: unknown): { data: T } | { issues: z.core.$ZodIssue[] } {
  try {
    const parsed = schema.safeParse(value, { reportInput: true });
    // zod computes the issues on first access and reads the value again; so the access is inside this `try`.
    return parsed.success ? { data: parsed.data } : { issues: parsed.error.issues };
  } catch (error) {
    const problem = `it cannot be read (${error instanceof Error ? error.message.slice(0, 200) : showValue(error)})`;
    throw failure('INVALID_ARGUMENT', { what, problem, fix: 'Give a plain value' }, error);
  }
}

function shownKeys(keys: string[]): string {
  const shown = keys.slice(0, MOST_SHOWN).map((key) => showValue(key));
  return keys.length > MOST_SHOWN ? `${shown.join(', ')}, like ${keys.length - MOST_SHOWN} more,` : shown.join(', ');
}

function fixOf(issue: z.core.$ZodIssue | undefined): string {
  switch (issue?.code) {
    case 'custom':
      return String(issue.params?.['fix'] ?? 'Correct it');
    case 'invalid_value':
      return `Use one of ${issue.values.map((value) => String(value)).join(', ')}`;
    case 'invalid_type':
      return `Give ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_key':
      return fixOf(issue.issues[0]);
    case 'invalid_union':
      return fixOfUnion(issue);
    default:
      return upperFirst(issue?.message ?? 'give another');
  }
}

function fixOfUnion(issue: z.core.$ZodIssueInvalidUnion): string {
  if (!isUnnamedUnion(issue)) return upperFirst(issue.message);
  const [first = 'Give another value', ...others] = new Set(issue.errors.flatMap(([one]) => (one ? fixOf(one) : [])));
  return [first, ...others.map((other) => other.replace(/^Give /, ''))].join(' or ');
}

const TYPES: Record<string, string> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a finite number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

function upperFirst(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A text of limited length that Postgres and Temporal store unchanged. Its length is checked first. */
export function textSchema(max: number, { min = 1, oneLine = false }: { min?: number; oneLine?: boolean } = {}) {
  const fix = min === 0 ? `Write up to ${max} characters` : `Write ${min} to ${max} characters`;
  return z.string().superRefine((value, context) => {
    const problem = problemOf(value, { min, max, oneLine });
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem, params: { fix }, input: value });
  });
}

function problemOf(value: string, { min, max, oneLine }: { min: number; max: number; oneLine: boolean }): string | undefined {
  if (value.length > max) return `it has ${value.length} characters`;
  if (value.trim().length < min) return `${showValue(value)} cannot be used`;
  const odd = unstorable(value);
  if (odd !== undefined) return `${showValue(value)} has ${odd}`;
  return oneLine && /\p{Cc}/u.test(value) ? `${showValue(value)} has a control character` : undefined;
}

/** Ids that people and programs choose: of users, tenants, messages. */
export const id = textSchema(200, { oneLine: true });
/** Names of things that may not exist. A name that nothing could have leads to `not found`, not to a wrong argument. */
export const name = textSchema(300);
export const count = z.int().min(0, 'give a whole number from 0');

export const signal = z.custom<AbortSignal>(
  (value) => typeof value === 'object' && value !== null && typeof (value as AbortSignal).aborted === 'boolean' && value instanceof EventTarget,
  { params: { fix: 'Give the signal of an AbortController' }, error: 'it is no AbortSignal' },
);

/** Refuses a value so deep or so large that the checks after this one would overflow the stack, and names the place of what JSON does not have. */
const readableJson = z.unknown().superRefine((value, context) => {
  const excess = excessOfValue(value);
  const add = (problem: string, fix: string, path: PropertyKey[] = []) =>
    context.addIssue({ code: 'custom', message: `it ${problem}`, params: { fix }, path, input: value });
  if (excess !== undefined) return add(excess, 'Give a smaller and flatter object');
  const found = noJsonIn(value);
  if (found)
    add(`is ${showValue(found.value)}`, 'Give a value that JSON has: a text, a finite number, true, false, null, a list or a plain object', found.path);
});

/** JSON of a size that Temporal and Postgres accept. */
export const jsonObject = readableJson.pipe(z.record(z.string(), z.json())).superRefine((value, context) => {
  const { length } = JSON.stringify(value);
  if (length > MAX_JSON)
    context.addIssue({ code: 'custom', message: `it has ${length} characters as JSON`, params: { fix: `Give up to ${MAX_JSON}` }, input: value });
});

/** Any JSON value. */
export const jsonValue = readableJson.pipe(z.json());

const MAX_JSON = 1_000_000;
const MOST_SHOWN = 3;
