/** Reads types of doc comments, which are written as in TypeScript or as in Python. Our own: parsers of JSDoc types know neither `Dict[str, int]` nor `Optional[str]`. */
import type { JsonObject } from '../../../../contracts/json.ts';
import { schemaOfAlternatives, type Alternative } from './alternatives.ts';

const SIMPLE = new Map(
  Object.entries({
    int: 'integer',
    integer: 'integer',
    float: 'number',
    number: 'number',
    str: 'string',
    string: 'string',
    bool: 'boolean',
    boolean: 'boolean',
    list: 'array',
    sequence: 'array',
    iterable: 'array',
    tuple: 'array',
    array: 'array',
    dict: 'object',
    record: 'object',
    object: 'object',
  }),
);
const WORDS = new Map<string, Alternative>([
  ['null', 'null'],
  ['None', 'null'],
  ['undefined', 'undefined'],
  ['true', { value: true }],
  ['True', { value: true }],
  ['false', { value: false }],
  ['False', { value: false }],
]);
const LISTS = /^(Array|List|list|Sequence|Iterable)$/;
const LONGEST_TYPE = 1_000;

/** JSON Schema of a type in a comment. An unknown or very long type accepts any value. */
export function schemaOfWrittenType(written: string): { schema: JsonObject; optional: boolean } {
  if (written.length > LONGEST_TYPE) return { schema: {}, optional: false };
  const type = written.replace(/,\s*optional\s*$/i, '');
  const isOptional = type !== written || /^\s*Optional\[/.test(type) || /=\s*$/.test(type);
  return { schema: schemaOfAlternatives(new Reader(type.replace(/=\s*$/, '')).readAll()), optional: isOptional };
}

const CLOSING: Record<string, string> = { '<': '>', '[': ']', '(': ')', '{': '}' };

function simpleOf(name: string): Alternative {
  const type = SIMPLE.get(name.toLowerCase());
  return { schema: type === undefined ? {} : { type } };
}

class Reader {
  readonly #tokens: string[];
  #at = 0;

  constructor(type: string) {
    this.#tokens = type.match(/"[^"]*"|'[^']*'|[\w$.]+|-?\d+|[^\s]/g) ?? [];
  }

  readAll(): Alternative[] {
    try {
      const found = this.#readUnion();
      return this.#isAtEnd() ? found : [{ schema: {} }];
    } catch (error) {
      if (error instanceof SyntaxError) return [{ schema: {} }];
      throw error;
    }
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  #readUnion(): Alternative[] {
    this.#takes('|');
    const found = this.#readOne();
    while (this.#takes('|')) found.push(...this.#readOne());
    return found;
  }

  #readOne(): Alternative[] {
    let found = this.#readFirst();
    while (this.#tokens[this.#at] === '[' && this.#tokens[this.#at + 1] === ']') {
      this.#at += 2;
      found = [{ schema: { type: 'array', items: schemaOfAlternatives(found) } }];
    }
    return found;
  }

  #readFirst(): Alternative[] {
    if (this.#takes('?')) return [...this.#readOne(), 'null'];
    if (this.#takes('(')) return this.#readList('(').flat();
    if (this.#takes('{')) return this.#skipObject();
    const token = this.#tokens[this.#at] ?? '';
    this.#at += 1;
    if (/^["']/.test(token) && token.length > 1) return [{ value: token.slice(1, -1) }];
    if (/^-?\d/.test(token)) return [{ value: Number(token) }];
    return this.#ofName(token);
  }

  #ofName(name: string): Alternative[] {
    const open = this.#tokens[this.#at] ?? '';
    const hasParts = open === '<' || (open === '[' && this.#tokens[this.#at + 1] !== ']');
    if (!hasParts) return [WORDS.get(name) ?? simpleOf(name)];
    this.#at += 1;
    const parts = this.#readList(open);
    const [first = []] = parts;
    if (name === 'Optional') return [...first, 'null'];
    if (name === 'Union' || name === 'Literal') return parts.flat();
    return [LISTS.test(name) ? { schema: { type: 'array', items: schemaOfAlternatives(first) } } : simpleOf(name)];
  }

  /** Types between commas, to the bracket that closes `open`. */
  #readList(open: string): Alternative[][] {
    const parts = [this.#readUnion()];
    while (this.#takes(',')) parts.push(this.#readUnion());
    if (!this.#takes(CLOSING[open] ?? '')) throw new SyntaxError(`${open} is not closed`);
    return parts;
  }

  #skipObject(): Alternative[] {
    for (let depth = 1; depth > 0 && !this.#isAtEnd(); this.#at += 1) {
      if (this.#tokens[this.#at] === '{') depth += 1;
      if (this.#tokens[this.#at] === '}') depth -= 1;
    }
    return [{ schema: { type: 'object' } }];
  }

  #takes(token: string): boolean {
    const isNext = this.#tokens[this.#at] === token;
    if (isNext) this.#at += 1;
    return isNext;
  }
}
