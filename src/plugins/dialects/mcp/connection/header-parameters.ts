import { isObject, type Json, type JsonObject } from '../../../../contracts/json.ts';

const KEY = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PLAIN = new Set<Json | undefined>(['integer', 'string', 'boolean']);
/** Keywords whose values are no schemas. */
const VALUES = new Set(['default', 'const', 'enum', 'examples']);
/** A definition has 64 KB at most; this is for one that is nested to hurt. */
const DEEPEST = 200;

/** Whether a server wants arguments of this tool in headers of the request as well. */
export function hasHeaderParameters(schema: Json | undefined): boolean {
  return JSON.stringify(schema ?? null).includes(`"${KEY}"`);
}

/** Why the headers that a tool wants cannot be made, so that it cannot be called over HTTP; undefined if they can. */
export function problemOfHeaders(schema: Json | undefined): string | undefined {
  const seen = new Set<string>();
  return problemIn(schema ?? null, true, seen, 0);
}

/** @param isReached whether the place is reached by `properties` alone, where its argument is found */
function problemIn(value: Json, isReached: boolean, seen: Set<string>, depth: number): string | undefined {
  if (depth > DEEPEST) return 'it is nested too deeply';
  if (Array.isArray(value)) return firstOf(value, (each) => problemIn(each, false, seen, depth + 1));
  if (!isObject(value)) return undefined;
  const own = value[KEY] === undefined ? undefined : problemOf(value, isReached && depth > 0, seen);
  return (
    own ??
    firstOf(Object.entries(value), ([key, inner]) => {
      if (VALUES.has(key)) return undefined;
      return key === 'properties' && isObject(inner)
        ? firstOf(Object.values(inner), (each) => problemIn(each, isReached, seen, depth + 1))
        : problemIn(inner, false, seen, depth + 1);
    })
  );
}

function problemOf(schema: JsonObject, isReached: boolean, seen: Set<string>): string | undefined {
  const name = schema[KEY];
  if (typeof name !== 'string' || !TOKEN.test(name)) return `${KEY} is not the name of a header`;
  if (!isReached) return `${KEY} is at a place that not each call has`;
  if (!PLAIN.has(schema['type'])) return `${KEY} is at an argument that is not an integer, a text or a truth value`;
  if (seen.has(name.toLowerCase())) return `two arguments have the ${KEY} ${name}`;
  seen.add(name.toLowerCase());
  return undefined;
}

function firstOf<Value>(values: Value[], problem: (value: Value) => string | undefined): string | undefined {
  for (const value of values) {
    const found = problem(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
