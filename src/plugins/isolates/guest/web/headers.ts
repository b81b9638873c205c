import { stringOf } from './string-of.ts';

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers of a request or a response, by lower-case name. */
export class GuestHeaders {
  readonly #values = new Map<string, string>();
  /** Several cookies are not joined with commas. */
  readonly #cookies: string[] = [];

  constructor(init?: unknown) {
    for (const [name, value] of pairsOf(init)) this.append(name, value);
  }

  append(name: unknown, value: unknown): void {
    const [key, text] = [keyOf(name), valueOf(value)];
    if (key === 'set-cookie') this.#cookies.push(text);
    const before = this.#values.get(key);
    this.#values.set(key, before === undefined ? text : `${before}, ${text}`);
  }

  delete(name: unknown): void {
    const key = keyOf(name);
    if (key === 'set-cookie') this.#cookies.length = 0;
    this.#values.delete(key);
  }

  get(name: unknown): string | null {
    return this.#values.get(keyOf(name)) ?? null;
  }

  getSetCookie(): string[] {
    return [...this.#cookies];
  }

  has(name: unknown): boolean {
    return this.#values.has(keyOf(name));
  }

  set(name: unknown, value: unknown): void {
    // A value that is refused must not remove the former one.
    const text = valueOf(value);
    this.delete(name);
    this.append(name, text);
  }

  forEach(each: (value: string, name: string, headers: this) => void, self?: unknown): void {
    for (const [name, value] of this.entries()) each.call(self, value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    const others = [...this.#values].filter(([name]) => name !== 'set-cookie');
    const all = [...others, ...this.#cookies.map((cookie): [string, string] => ['set-cookie', cookie])];
    return all.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))).values();
  }

  keys(): IterableIterator<string> {
    return [...this.entries()].map(([name]) => name).values();
  }

  values(): IterableIterator<string> {
    return [...this.entries()].map(([, value]) => value).values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }
}

/** The pairs of any value that may be headers: an iterable of pairs, or an object. */
export function pairsOf(init: unknown): [string, string][] {
  if (init === undefined || init === null) return [];
  if (typeof init !== 'object') throw new TypeError('Headers are an object, a list of pairs or Headers');
  const isIterable = typeof (init as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function';
  const pairs = isIterable ? [...(init as Iterable<Iterable<unknown>>)].map((pair) => [...pair]) : Object.entries(init);
  return pairs.map((pair) => {
    if (pair.length !== 2) throw new TypeError('Each pair has to have a name and a value');
    return [stringOf(pair[0]), stringOf(pair[1])];
  });
}

function keyOf(name: unknown): string {
  const text = stringOf(name);
  if (!NAME.test(text)) throw new TypeError(`${JSON.stringify(text.slice(0, 100))} is no name of a header`);
  return text.toLowerCase();
}

function valueOf(value: unknown): string {
  const text = stringOf(value).replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]|[^\0-\u00FF]/.test(text)) throw new TypeError(`${JSON.stringify(text.slice(0, 100))} is no value of a header`);
  return text;
}

harden(GuestHeaders);
