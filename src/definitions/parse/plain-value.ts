/** A problem in a definition, and its path. */
export interface PlainFault {
  path: PropertyKey[];
  problem: string;
  fix: string;
}

const MAX_CHARACTERS = 1_000_000;
const MAX_DEPTH = 50;
const MAX_VALUES = 100_000;

class Faulty extends Error {
  readonly fault: PlainFault;

  constructor(path: PropertyKey[], problem: string, fix: string) {
    super(problem);
    this.fault = { path, problem, fix };
  }
}

/**
 * A copy of a definition that consists only of lists, objects, strings, numbers, true, false and null, so that no code of the caller runs after this. Its
 * strings have no NUL and no lone surrogates, which Postgres and the kernel do not accept.
 */
export function plainValue(value: unknown): { value: unknown } | { fault: PlainFault } {
  const budget = { left: MAX_VALUES };
  try {
    return { value: copy(value, [], budget) };
  } catch (error) {
    if (error instanceof Faulty) return { fault: error.fault };
    // A getter or a proxy of the caller threw.
    const said = error instanceof Error ? error.message.slice(0, 100) : typeof error;
    return { fault: { path: [], problem: `cannot be read (${said})`, fix: 'Give plain values' } };
  }
}

function copy(value: unknown, path: PropertyKey[], budget: { left: number }): unknown {
  budget.left -= 1;
  if (budget.left < 0) throw new Faulty(path, `comes after ${MAX_VALUES} other values`, 'Give fewer');
  if (path.length > MAX_DEPTH) throw new Faulty(path.slice(0, 3), `is nested deeper than ${MAX_DEPTH} levels, or within itself`, 'Give it fewer levels');
  if (typeof value === 'string') return checkedText(value, path);
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value !== 'object') throw new Faulty(path, `is a ${typeof value}`, 'Give a text, a number, true, false, a list or an object');
  if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index], budget));
  if (Object.prototype.toString.call(value) !== '[object Object]') throw new Faulty(path, 'is no plain object', 'Give an object with keys and values');
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [checkedKey(key, path), copy(item, [...path, key.slice(0, 100)], budget)]));
}

function checkedKey(key: string, path: PropertyKey[]): string {
  // What checks definitions later would leave it out.
  if (key === '__proto__') throw new Faulty([...path, key], 'is no name that a key can have', 'Give it another name');
  return checkedText(key, path);
}

function checkedText(text: string, path: PropertyKey[]): string {
  if (text.length > MAX_CHARACTERS) throw new Faulty(path, `has ${text.length} characters`, `Give at most ${MAX_CHARACTERS}`);
  const nul = text.indexOf('\0');
  if (nul >= 0) throw new Faulty(path, `has a NUL character (at ${nul})`, 'Remove it');
  // `isWellFormed` is not in the library version that the compiler uses.
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed())
    throw new Faulty(path, 'has half of a surrogate pair, which is not a character', 'Remove it');
  return text;
}
