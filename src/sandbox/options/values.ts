import { z } from 'zod';
import { copied, isNot, isPlainObject, value, type Fault } from './parse.ts';
import { showValue } from '../../common/show-value.ts';

/** The longest lifetime. Postgres and JavaScript can represent every date that it leads to. */
const CENTURY_MS = 100 * 365.25 * 86_400_000;
const MAX_PATH_CHARACTERS = 4096;
const MAX_NAME_CHARACTERS = 200;
const ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;
const SANDBOX_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,139}$/;

interface TextLimits {
  /** Completes "is not …". */
  kind: string;
  maxLength: number;
  /** Default 1. */
  minLength?: number;
}

/** A text without NUL, which ends texts in the kernel and is refused by Postgres, and without halves of surrogate pairs, which are not characters. */
export function text({ kind, maxLength, minLength = 1 }: TextLimits): z.ZodType<string> {
  return value((given) => {
    if (typeof given !== 'string') return isNot(given, kind);
    if (given.length > maxLength) return { problem: `it has ${given.length} characters`, fix: `Give ${kind} of at most ${maxLength} characters` };
    if (given.length < minLength) return { problem: 'it is empty', fix: `Give ${kind}` };
    return faultOfCharacters(given);
  });
}

export function faultOfCharacters(given: string): Fault | undefined {
  const nul = given.indexOf('\0');
  if (nul >= 0) return { problem: `${showValue(given)} has a NUL character (at ${nul})`, fix: 'Remove it' };
  return isWellFormed(given) ? undefined : notWellFormed(given);
}

/** The type library that we compile with does not have `String.prototype.isWellFormed`. */
export function isWellFormed(given: string): boolean {
  return (given as string & { isWellFormed(): boolean }).isWellFormed();
}

export function notWellFormed(given: string): Fault {
  return { problem: `${showValue(given)} has half of a surrogate pair, which is not a character`, fix: 'Remove it, or give bytes' };
}

export const path = text({ kind: 'a path', maxLength: MAX_PATH_CHARACTERS });
export const pattern = text({ kind: 'a pattern', maxLength: MAX_PATH_CHARACTERS });
/** A path of this machine. */
export const localPath = text({ kind: 'a path of this machine', maxLength: MAX_PATH_CHARACTERS });
export const user = text({ kind: 'the name of a user', maxLength: 32 });
export const name = text({ kind: 'a name', maxLength: MAX_NAME_CHARACTERS });
export const tenant = text({ kind: 'the id of a tenant', maxLength: MAX_NAME_CHARACTERS });

export const execId = value<string>((given) => {
  if (typeof given === 'string' && ID.test(given)) return undefined;
  return isNot(given, 'an id', 'Use a letter or digit, then letters, digits, "_", ".", ":" and "-", 128 characters at most');
});

export const sandboxId = value<string>((given) => {
  if (typeof given === 'string' && SANDBOX_ID.test(given)) return undefined;
  return isNot(given, 'the id of a sandbox', 'Use a letter or digit, then letters, digits, "_", "." and "-", 140 characters at most');
});

const SNAPSHOT_NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,99}$/u;

export const snapshotName = value<string>((given) => {
  if (typeof given === 'string' && SNAPSHOT_NAME.test(given)) return undefined;
  return isNot(given, 'the name of a snapshot', 'Use up to 100 letters, digits, spaces, "_", "." and "-"');
});

interface Range {
  min: number;
  max: number;
  /** The unit of the number, in the plural. */
  unit?: string;
  fix?: string;
}

export function whole({ min, max, unit, fix }: Range): z.ZodType<number> {
  const kind = `a whole number${unit === undefined ? '' : ` of ${unit}`} from ${min} to ${max}`;
  return value((given) => (Number.isSafeInteger(given) && (given as number) >= min && (given as number) <= max ? undefined : isNot(given, kind, fix)));
}

export function number({ min, max }: Range): z.ZodType<number> {
  const kind = `a number from ${min} to ${max}`;
  return value((given) => (typeof given === 'number' && given >= min && given <= max ? undefined : isNot(given, kind)));
}

export const bytes = whole({ min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'bytes' });
export const mode = whole({ min: 0, max: 0o7777, fix: 'Give permission bits, such as 0o644' });
/** A lifetime that begins now. */
export const lifetime = whole({ min: 1, max: CENTURY_MS, unit: 'milliseconds' });

export const flag = value<boolean>((given) => (typeof given === 'boolean' ? undefined : isNot(given, 'true or false')));

export function oneOf<T extends string>(values: readonly T[], kind: string): z.ZodType<T> {
  return value((given) => (values.includes(given as T) ? undefined : isNot(given, kind, `Use ${values.join(', ')}`)));
}

export const callback = value<(...args: unknown[]) => unknown>((given) => (typeof given === 'function' ? undefined : isNot(given, 'a function')));

export const abortSignal = value<AbortSignal>((given) => {
  const signal = given as Partial<AbortSignal> | null | undefined;
  const isSignal = typeof signal === 'object' && signal !== null && typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function';
  return isSignal ? undefined : isNot(given, 'an AbortSignal', 'Give the signal of an AbortController, or AbortSignal.timeout(milliseconds)');
});

/** An array whose elements fit `item`. */
export function list<T>({ item, kind, maxItems }: { item: z.ZodType<T>; kind: string; maxItems: number }): z.ZodType<T[]> {
  const array = value<unknown[]>((given) => {
    if (!Array.isArray(given)) return isNot(given, `an array of ${kind}`);
    return given.length <= maxItems ? undefined : { problem: `it has ${given.length} items`, fix: `Give at most ${maxItems}` };
  });
  return array.pipe(z.array(item));
}

/** Texts by name. They are copied before they are checked, so that a getter or a proxy of the caller cannot give another text afterwards. */
export function texts({ kind, maxItems, faultOf }: { kind: string; maxItems: number; faultOf: (name: string, text: unknown) => Fault | undefined }) {
  const fitting = value<Record<string, string>>((given) => {
    if (!isPlainObject(given)) return isNot(given, `an object of ${kind}`);
    const entries = Object.entries(given);
    if (entries.length > maxItems) return { problem: `it has ${entries.length} entries`, fix: `Give at most ${maxItems}` };
    for (const [key, text] of entries) {
      const fault = faultOf(key, text);
      if (fault) return fault;
    }
    return undefined;
  });
  return copied.pipe(fitting);
}

const MAX_VARIABLES = 500;
const MAX_VARIABLE_CHARACTERS = 131_071;

export const environment = texts({ kind: 'variables', maxItems: MAX_VARIABLES, faultOf: faultOfVariable });

/** Why the kernel does not accept a variable of the environment; undefined when it does. */
function faultOfVariable(key: string, text: unknown): Fault | undefined {
  if (key === '' || key.includes('=')) return { problem: `${showValue(key)} is not the name of a variable`, fix: 'Use a name without "="' };
  if (typeof text !== 'string') return { problem: `${showValue(text)} is not a text, in ${showValue(key)}`, fix: 'Give every variable a text' };
  if (key.length + text.length > MAX_VARIABLE_CHARACTERS)
    return {
      problem: `${showValue(key)} has ${text.length} characters`,
      fix: `At most ${MAX_VARIABLE_CHARACTERS} fit into a variable: put the rest into a file`,
    };
  const fault = faultOfCharacters(key) ?? faultOfCharacters(text);
  return fault && { ...fault, problem: `${fault.problem}, in ${showValue(key)}` };
}
