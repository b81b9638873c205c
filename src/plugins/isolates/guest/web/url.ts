import { stringOf } from './string-of.ts';

const { URL: PlatformURL, URLSearchParams: PlatformParams } = globalThis;

type Parts = 'hash' | 'host' | 'hostname' | 'href' | 'password' | 'pathname' | 'port' | 'protocol' | 'search' | 'username';
const SEARCH: unique symbol = Symbol('search');

/** The platform's URLSearchParams without access to the platform's objects. */
export class GuestURLSearchParams {
  readonly #params: URLSearchParams;

  constructor(init: unknown = '', of?: { [SEARCH]: URLSearchParams }) {
    this.#params = of?.[SEARCH] ?? new PlatformParams(pairsOf(init));
  }

  get size(): number {
    return [...this.#params].length;
  }

  append(name: unknown, value: unknown): void {
    this.#params.append(stringOf(name), stringOf(value));
  }

  delete(name: unknown, value?: unknown): void {
    if (value === undefined) return this.#params.delete(stringOf(name));
    const kept = this.#entries().filter(([key, held]) => key !== stringOf(name) || held !== stringOf(value));
    for (const key of new Set(this.#params.keys())) this.#params.delete(key);
    for (const [key, held] of kept) this.#params.append(key, held);
  }

  get(name: unknown): string | null {
    return this.#params.get(stringOf(name));
  }

  getAll(name: unknown): string[] {
    return [...this.#params.getAll(stringOf(name))];
  }

  has(name: unknown, value?: unknown): boolean {
    return value === undefined ? this.#params.has(stringOf(name)) : this.getAll(name).includes(stringOf(value));
  }

  set(name: unknown, value: unknown): void {
    this.#params.set(stringOf(name), stringOf(value));
  }

  sort(): void {
    this.#params.sort();
  }

  forEach(each: (value: string, name: string, params: this) => void, self?: unknown): void {
    for (const [name, value] of this.#entries()) each.call(self, value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#entries().values();
  }

  keys(): IterableIterator<string> {
    return this.#entries()
      .map(([name]) => name)
      .values();
  }

  values(): IterableIterator<string> {
    return this.#entries()
      .map(([, value]) => value)
      .values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  toString(): string {
    return this.#params.toString();
  }

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams';
  }

  #entries(): [string, string][] {
    return [...this.#params].map(([name, value]) => [name, value]);
  }
}

/** The platform's URL without access to the platform's objects. */
export class GuestURL {
  declare hash: string;
  declare host: string;
  declare hostname: string;
  declare href: string;
  declare password: string;
  declare pathname: string;
  declare port: string;
  declare protocol: string;
  declare search: string;
  declare username: string;
  readonly #url: URL;
  readonly #search: GuestURLSearchParams;

  constructor(url: unknown, base?: unknown) {
    this.#url = parsed(url, base);
    this.#search = harden(new GuestURLSearchParams('', { [SEARCH]: this.#url.searchParams }));
  }

  static canParse(url: unknown, base?: unknown): boolean {
    return GuestURL.parse(url, base) !== null;
  }

  static parse(url: unknown, base?: unknown): GuestURL | null {
    try {
      return new GuestURL(url, base);
    } catch {
      return null;
    }
  }

  static {
    const parts: Parts[] = ['hash', 'host', 'hostname', 'href', 'password', 'pathname', 'port', 'protocol', 'search', 'username'];
    for (const part of parts) {
      Object.defineProperty(GuestURL.prototype, part, {
        configurable: true,
        enumerable: true,
        get(this: GuestURL) {
          return this.#url[part];
        },
        set(this: GuestURL, value: unknown) {
          const text = stringOf(value);
          if (part === 'href') parsed(text, undefined);
          this.#url[part] = text;
        },
      });
    }
  }

  get origin(): string {
    return this.#url.origin;
  }

  get searchParams(): GuestURLSearchParams {
    return this.#search;
  }

  toString(): string {
    return this.#url.href;
  }

  toJSON(): string {
    return this.#url.href;
  }

  get [Symbol.toStringTag](): string {
    return 'URL';
  }
}

function parsed(url: unknown, base: unknown): URL {
  const [text, from] = [stringOf(url), base === undefined ? undefined : stringOf(base)];
  try {
    return new PlatformURL(text, from);
  } catch {
    throw new TypeError(`Invalid URL: ${text.slice(0, 200)}`);
  }
}

function pairsOf(init: unknown): string | [string, string][] {
  if (init === null || (typeof init !== 'object' && typeof init !== 'function')) return stringOf(init);
  const isIterable = typeof (init as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function';
  if (!isIterable) return Object.entries(init).map(([name, value]) => [name, stringOf(value)]);
  return [...(init as Iterable<Iterable<unknown>>)].map((given) => {
    const pair = [...given];
    if (pair.length !== 2) throw new TypeError('Each pair has to have a name and a value');
    return [stringOf(pair[0]), stringOf(pair[1])];
  });
}

harden(GuestURLSearchParams);
harden(GuestURL);
