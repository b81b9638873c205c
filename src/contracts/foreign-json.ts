import type { Json } from './json.ts';

/** Code that walks a value recursively overflows the stack at some thousand levels. */
export const MOST_NESTED = 500;
/** Parsing takes about 0.02 microseconds for an element of a list, and up to 1 for a key or an object, which are allocated one by one. */
const MOST_ELEMENTS = 1_000_000;
const MOST_KEYS = 200_000;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];
const [COMMA, COLON] = [0x2c, 0x3a];

/**
 * Returns why untrusted JSON is refused before it is parsed, as a clause that follows its name: "is nested …". Looks only at the text. Undefined when no
 * limit is exceeded; the text may still be invalid JSON.
 */
export function excessOf(json: string): string | undefined {
  // Each level takes two characters, and each element or key at least two: a shorter text exceeds no limit.
  if (json.length < 2 * MOST_NESTED) return undefined;
  const count = new Count();
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) at = endOfString(json, at);
    else if (count.take(character)) break;
  }
  return count.excess;
}

/** The same check for bytes that arrive one at a time. */
export function createExcessScan(): { take(byte: number): void; found(): string | undefined } {
  const count = new Count();
  let [inString, isEscaped] = [false, false];
  return {
    take(byte) {
      if (inString) {
        if (!isEscaped && byte === QUOTE) inString = false;
        isEscaped = !isEscaped && byte === BACKSLASH;
      } else if (byte === QUOTE) inString = true;
      else count.take(byte);
    },
    found: () => count.excess,
  };
}

class Count {
  excess: string | undefined;
  #depth = 0;
  #elements = 0;
  #keys = 0;

  /** Takes a character outside of strings; true when a limit is exceeded. */
  take(character: number): boolean {
    if (character === COMMA) this.#elements += 1;
    else if (character === COLON) this.#keys += 1;
    else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      this.#depth += 1;
      this.#keys += 1;
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) this.#depth -= 1;
    else return false;
    this.excess ??= excessIn(this.#depth, this.#elements, this.#keys);
    return this.excess !== undefined;
  }
}

function excessIn(depth: number, elements: number, keys: number): string | undefined {
  if (depth > MOST_NESTED) return `is nested more than ${MOST_NESTED} levels deep`;
  if (keys > MOST_KEYS) return `has more than ${MOST_KEYS} keys, objects and lists`;
  return elements > MOST_ELEMENTS ? `has more than ${MOST_ELEMENTS} elements` : undefined;
}

function endOfString(json: string, open: number): number {
  for (let end = json.indexOf('"', open + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return json.length;
}

/** A cheap look at the whole text: most JSON has no such number. */
const MAY_BE_INEXACT = /\d{16}|\d[eE]\+?\d{3}/;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
/** Whole numbers with fewer digits are exact. */
const EXACT_DIGITS = 15;
const MOST_SHOWN = 40;

/**
 * The first number that `JSON.parse` would change: a whole number whose digits would be others, or one that is too large. Other numbers with many digits are
 * approximate by their nature. Undefined when there is none; the text may still be invalid JSON.
 */
export function inexactNumberIn(json: string): string | undefined {
  if (!MAY_BE_INEXACT.test(json)) return undefined;
  for (let at = 0; at < json.length; at += 1) {
    if (json.charCodeAt(at) === QUOTE) at = endOfString(json, at);
    NUMBER.lastIndex = at;
    const [number = '', fraction, exponent] = NUMBER.exec(json) ?? [];
    if (number === '') continue;
    const isWhole = fraction === undefined && exponent === undefined;
    const isKept = isWhole ? number.length <= EXACT_DIGITS || String(Number(number)) === number : Number.isFinite(Number(number));
    if (!isKept) return number.length > MOST_SHOWN ? `${number.slice(0, MOST_SHOWN)}…` : number;
    at += number.length - 1;
  }
  return undefined;
}

/** The same for a value that a library has parsed: whether a number in it may have had other digits. Of at most `MOST_NESTED` levels. */
export function mayHaveLostDigits(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return typeof value === 'object' && value !== null && Object.values(value).some(mayHaveLostDigits);
}

/**
 * Parses untrusted JSON.
 * @throws an Error that says what is wrong with it
 */
export function parseForeign(json: string): Json {
  const excess = excessOf(json);
  if (excess !== undefined) throw new Error(`it ${excess}`);
  return JSON.parse(json) as Json;
}

/** As `parseForeign`; returns undefined for JSON that is refused or invalid. */
export function tryParseForeign(json: string): Json | undefined {
  try {
    return parseForeign(json);
  } catch {
    return undefined;
  }
}

/** The same check for a value that a library has parsed, or that a caller has made. Does not recurse, and ends for a value that contains itself. */
export function excessOfValue(value: unknown): string | undefined {
  let level = [value];
  let [elements, keys] = [0, 0];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const part of level) {
      if (part === null || typeof part !== 'object' || ArrayBuffer.isView(part)) continue;
      const inner: unknown[] = Array.isArray(part) ? part : Object.values(part);
      keys += Array.isArray(part) ? 1 : 1 + inner.length;
      elements += inner.length;
      const excess = excessIn(depth + 1, elements, keys);
      if (excess !== undefined) return excess;
      for (const each of inner) if (each !== null && typeof each === 'object') next.push(each);
    }
    level = next;
  }
  return undefined;
}
