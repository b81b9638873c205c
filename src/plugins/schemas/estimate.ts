import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import { isTuple } from './schema-draft.ts';
import { degreeOf } from './pattern-degree.ts';

/** What the evaluation of a schema can cost. A part counts as often as references lead to it. */
export interface Cost {
  /** Parts of the schema; infinite if a reference is circular or cannot be followed. */
  parts: number;
  /** Regular expressions and formats whose time grows at most with the square of a text's length; infinite if there are others. */
  patterns: number;
  /** `uniqueItems`, whose time grows with the square of the number of items. */
  pairs: number;
}

export interface Estimate extends Cost {
  /** Parts of the schema, without following references. */
  size: number;
  hasTuples: boolean;
  /** Only the exact engine evaluates it as the drafts require. */
  needsExact: boolean;
}

/** Levels of a schema. A deeper one overflows the stack of the code that works on it. */
const DEEPEST = 200;
const LARGEST = 1024 * 1024;
/** Characters of a regular expression. To compile a longer one can crash the process (V8 overflows its stack), or block a thread that cannot be ended then. */
const LONGEST_PATTERN = 10_000;
/** With `$async`, which no draft has, Ajv's checks return promises: every value would pass, and a promise that nothing awaits would end the worker. */
const DYNAMIC = ['$async', '$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties', '$vocabulary'];

/**
 * Estimates the cost of a schema without evaluating it.
 * @throws an Error for a schema that is too deep or too large, or that has too long a regular expression
 */
export function estimate(schema: JsonObject): Estimate {
  const found = survey(schema);
  const { parts, patterns, pairs } = costOf(schema, schema, new Map());
  return { ...found, parts, patterns, pairs };
}

type Survey = Pick<Estimate, 'size' | 'hasTuples' | 'needsExact'>;

function survey(schema: JsonObject): Survey {
  let [size, characters] = [0, 0];
  const seen = { tuples: false, id: false, reference: false, dynamic: false };
  const look = (part: JsonObject): void => {
    checkPatterns(part);
    seen.tuples ||= isTuple(part);
    // Only texts: an object here is the schema of a property with that name.
    seen.id ||= typeof part['$id'] === 'string';
    seen.reference ||= typeof part['$ref'] === 'string';
    seen.dynamic ||= DYNAMIC.some((keyword) => Object.hasOwn(part, keyword)) || (Array.isArray(part['enum']) && part['enum'].length === 0) || refusesNullable(part);
  };
  const walk = (part: Json, depth: number): void => {
    size += 1;
    characters += typeof part === 'string' ? part.length : 1;
    if (depth > DEEPEST) throw new Error(`it is nested deeper than ${DEEPEST} levels`);
    if (characters > LARGEST) throw new Error(`it has more than ${LARGEST} characters`);
    if (part === null || typeof part !== 'object') return;
    if (isObject(part)) look(part);
    for (const key of Object.keys(part)) {
      characters += key.length;
      walk((part as JsonObject)[key] ?? null, depth + 1);
    }
  };
  walk(schema, 0);
  return { size, hasTuples: seen.tuples, needsExact: seen.dynamic || (seen.id && seen.reference) };
}

/** Ajv takes `nullable` from OpenAPI, and refuses schemas in which it does not fit the type. JSON Schema does not know it. */
function refusesNullable({ nullable, type = [] }: JsonObject): boolean {
  if (typeof nullable !== 'boolean') return false;
  const types = [type].flat();
  return types.length === 0 || (!nullable && types.includes('null'));
}

function checkPatterns({ pattern, patternProperties }: JsonObject): void {
  const patterns = [pattern, ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])];
  for (const found of patterns) {
    if (typeof found !== 'string' || found.length <= LONGEST_PATTERN) continue;
    throw new Error(`its pattern "${found.slice(0, 40)}…" has ${found.length} characters, and may have ${LONGEST_PATTERN}`);
  }
}

const ENDLESS: Cost = { parts: Infinity, patterns: Infinity, pairs: Infinity };

/** Counts properties that are named like keywords as keywords. This can only make the cost higher. */
function costOf(root: JsonObject, part: Json, known: Map<Json, Cost>): Cost {
  if (part === null || typeof part !== 'object') return { parts: 1, patterns: 0, pairs: 0 };
  const before = known.get(part);
  if (before) return before;
  // A part that is met again before its cost is known refers to itself.
  known.set(part, ENDLESS);
  const total = { parts: 1, patterns: 0, pairs: 0 };
  for (const inner of Object.values(part)) {
    if (inner !== null && typeof inner === 'object') add(total, costOf(root, inner, known));
    else total.parts += 1;
  }
  if (isObject(part)) addOwn(total, part);
  if (isObject(part) && typeof part['$ref'] === 'string') add(total, costOfReference(root, part['$ref'], known));
  known.set(part, total);
  return total;
}

function add(total: Cost, { parts, patterns, pairs }: Cost): void {
  total.parts += parts;
  total.patterns += patterns;
  total.pairs += pairs;
}

function addOwn(total: Cost, { pattern, patternProperties, format, uniqueItems }: JsonObject): void {
  if (typeof pattern === 'string') total.patterns += degreeOf(pattern) <= 2 ? 1 : Infinity;
  if (isObject(patternProperties)) for (const name of Object.keys(patternProperties)) total.patterns += degreeOf(name) <= 2 ? 1 : Infinity;
  if (typeof format === 'string') total.patterns += 1;
  if (uniqueItems === true) total.pairs += 1;
}

function costOfReference(root: JsonObject, reference: string, known: Map<Json, Cost>): Cost {
  if (reference === '#') return ENDLESS;
  if (!reference.startsWith('#/')) return ENDLESS;
  let target: Json | undefined = root;
  for (const step of reference.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    target = target !== null && typeof target === 'object' && Object.hasOwn(target, key) ? (target as JsonObject)[key] : undefined;
    if (target === undefined) return ENDLESS;
  }
  return costOf(root, target, known);
}

/** The size of a value, as far as it was counted. */
export interface Weight {
  nodes: number;
  characters: number;
}

const DEEPEST_VALUE = 100;
const LONGEST_PATH = 80;

/**
 * Counts a value and finds what is dangerous with any schema: a key that changes the prototype when it is copied, and depth that overflows the stack.
 * @param most nodes after which it stops, which bounds its time
 */
export function weigh(value: Json, most = Infinity): Weight | { hostile: string } {
  const weight: Weight = { nodes: 0, characters: 0 };
  const walk = (part: Json, path: string, depth: number): string | undefined => {
    weight.nodes += 1;
    if (typeof part === 'string') weight.characters += part.length;
    if (part === null || typeof part !== 'object') return undefined;
    if (depth > DEEPEST_VALUE) return `${path.slice(0, LONGEST_PATH)}…: nested deeper than ${DEEPEST_VALUE} levels`;
    // Not with Object.keys, which first makes a list of all keys of a large array.
    // oxlint-disable-next-line typescript/no-for-in-array -- as above; inherited keys are skipped
    for (const key in part) {
      if (weight.nodes > most) return undefined;
      if (!Object.hasOwn(part, key)) continue;
      if (key === '__proto__') return `${path}/__proto__: this key is not accepted`;
      if (!Array.isArray(part)) weight.characters += key.length;
      const problem = walk((part as JsonObject)[key] ?? null, `${path}/${key}`, depth + 1);
      if (problem) return problem;
    }
    return undefined;
  };
  const hostile = walk(value, '', 0);
  return hostile === undefined ? weight : { hostile };
}
