import { z } from 'zod';
import { nearest } from '../../common/nearest.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { showValue } from '../../common/show-value.ts';

/** What is wrong with a value, and what to give instead. */
export interface Fault {
  problem: string;
  fix: string;
}

/** The parameters of a method by name, in their order. Errors name a field of `options` without the word `options`. */
export type Parameters = Record<string, z.ZodType>;

/** Longer words are not compared with the names of options: the time of a comparison grows with the square of the length. */
const COMPARED_CHARACTERS = 40;
const NAMED_KEYS = 3;

/**
 * Parses one argument of a public method. It may be any value, since callers may be plain JavaScript.
 * @param what name of the argument for messages, such as `run.command`
 * @throws INVALID_ARGUMENT, which names the option, the value, and what to give instead
 */
export function parseArgument<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  let parsed: ReturnType<typeof schema.safeParse>;
  try {
    parsed = schema.safeParse(value, { reportInput: true });
  } catch (error) {
    throw failure('INVALID_ARGUMENT', { what, ...unreadable(error) }, error);
  }
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = [what, ...(issue?.path ?? []).map(String)].join('.');
  throw failure('INVALID_ARGUMENT', { what: name, ...faultOf(issue) });
}

/** Surplus arguments are ignored, as in JavaScript. */
export function parseArguments(method: string, parameters: Parameters, given: unknown[]): unknown[] {
  return Object.entries(parameters).map(([name, schema], index) => parseArgument(schema, given[index], name === 'options' ? method : `${method}.${name}`));
}

function faultOf(issue: z.core.$ZodIssue | undefined): Fault {
  if (issue?.code === 'custom' && issue.params) return issue.params as unknown as Fault;
  return { problem: `${showValue(issue?.input)} is not valid (${issue?.message})`, fix: 'Correct it' };
}

/** The fault of a value whose getter or proxy threw. */
function unreadable(error: unknown): Fault {
  return { problem: `it cannot be read (${showValue(error instanceof Error ? error.message : error)})`, fix: 'Give a plain value' };
}

/** The fault that `find` returns. A value whose own code throws is a fault as well. */
function faultBy(find: (value: unknown) => Fault | undefined, given: unknown): Fault | undefined {
  try {
    return find(given);
  } catch (error) {
    return unreadable(error);
  }
}

/** A schema for values in which `find` finds no fault. */
export function value<T>(find: (value: unknown) => Fault | undefined): z.ZodType<T> {
  return z
    .unknown()
    .superRefine((given, context) => {
      const fault = faultBy(find, given);
      if (fault) context.addIssue({ code: 'custom', params: { ...fault } });
    })
    .transform((given) => given as T);
}

/** A copy of an object's entries, which are read once; other values as they are. */
export const copied = z.unknown().transform((given, context) => {
  try {
    return isPlainObject(given) ? (Object.fromEntries(Object.entries(given)) as unknown) : given;
  } catch (error) {
    context.addIssue({ code: 'custom', params: { ...unreadable(error) } });
    return z.NEVER;
  }
});

/** The most common fault: the value is of another kind. */
export function isNot(given: unknown, kind: string, fix = `Give ${kind}`): Fault {
  return { problem: `${showValue(given)} is not ${kind}`, fix };
}

/** An object of options. Undefined options count as absent; unknown options are refused by name. */
export function options(shape: Record<string, z.ZodType>, example?: (given: unknown) => string): z.ZodType<object> {
  const known = Object.keys(shape);
  return z
    .unknown()
    .transform((given, context) => {
      const fault = faultBy(() => (isPlainObject(given) ? unknownKeys(given, known) : isNot(given, 'an object of options', example?.(given))), given);
      if (!fault) return withoutUndefined({ ...(given as object) });
      context.addIssue({ code: 'custom', params: { ...fault } });
      return z.NEVER;
    })
    .pipe(z.object(shape)) as z.ZodType<object>;
}

/** Checks the tag, since an object of another realm has another class. False for arrays, maps, dates and so on. */
export function isPlainObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null && Object.prototype.toString.call(given) === '[object Object]';
}

function unknownKeys(given: object, known: string[]): Fault | undefined {
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  const [first] = unknown;
  if (first === undefined) return undefined;
  const meant = first.length <= COMPARED_CHARACTERS ? meantBy(first, known) : undefined;
  const names = unknown.slice(0, NAMED_KEYS).map(showValue).join(', ') + (unknown.length > NAMED_KEYS ? ` and ${unknown.length - NAMED_KEYS} more` : '');
  const fix = known.length === 0 ? 'There are no options here' : `The options are ${known.join(', ')}`;
  return {
    problem: unknown.length === 1 ? `there is no option ${names}` : `there are no options ${names}`,
    fix: meant === undefined ? fix : `Did you mean ${meant}? ${fix}`,
  };
}

/** The option that was probably meant: one that begins with the word, such as `timeoutMs` for `timeout`, or that differs little from it. */
function meantBy(word: string, known: string[]): string | undefined {
  return known.find((name) => name.toLowerCase().startsWith(word.toLowerCase())) ?? nearest(word, known);
}
