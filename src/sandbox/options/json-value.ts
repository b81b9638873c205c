import type { JsonObject } from '../../contracts/json.ts';
import { isNot, isPlainObject, value, type Fault } from './parse.ts';
import { showValue } from '../../common/show-value.ts';
import { faultOfCharacters } from './values.ts';

const MAX_DEPTH = 20;
const MAX_CHARACTERS = 65_536;

const json = value<JsonObject>((given) => {
  if (!isData(given)) return isNot(given, 'an object');
  const fault = faultOfJson(given, '', 0);
  if (fault) return fault;
  const { length } = JSON.stringify(given);
  return length <= MAX_CHARACTERS ? undefined : { problem: `it takes ${length} characters as JSON`, fix: `At most ${MAX_CHARACTERS} are kept` };
});

/** An object that Postgres returns unchanged. Its copy is checked as well, since a getter or a proxy of the caller can give another value each time. */
export const metadata = json.transform((given): unknown => structuredClone(given)).pipe(json);

function faultOfJson(given: unknown, at: string, depth: number): Fault | undefined {
  if (depth > MAX_DEPTH) return { problem: `it is nested deeper than ${MAX_DEPTH}`, fix: 'Give a flatter object' };
  if (given === null || typeof given === 'boolean' || Number.isFinite(given)) return undefined;
  if (typeof given === 'string') return named(faultOfCharacters(given), at);
  if (!Array.isArray(given) && !isData(given)) return named(isNot(given, 'JSON', 'Use texts, finite numbers, true, false, null, arrays and plain objects'), at);
  return faultOfParts(given, at, depth + 1);
}

function faultOfParts(given: object, at: string, depth: number): Fault | undefined {
  for (const [key, item] of Object.entries(given)) {
    const fault = named(faultOfCharacters(key), at) ?? faultOfJson(item, at === '' ? key : `${at}.${key}`, depth);
    if (fault) return fault;
  }
  return undefined;
}

function named(fault: Fault | undefined, at: string): Fault | undefined {
  return fault && at !== '' ? { ...fault, problem: `${fault.problem}, in ${showValue(at)}` } : fault;
}

/** A plain object. JSON would change one with `toJSON`. */
function isData(given: unknown): given is object {
  return isPlainObject(given) && typeof (given as { toJSON?: unknown }).toJSON !== 'function';
}
