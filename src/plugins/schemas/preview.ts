import type { Json } from '../../contracts/json.ts';

const LONGEST = 80;
const LONGEST_LIST = 1_000;

/** The beginning of a value as JSON. It does not write the whole value first. */
export function preview(value: unknown, longest = LONGEST): string {
  if (value === undefined) return 'nothing';
  let text = '';
  const write = (part: unknown): void => {
    if (text.length > longest) return;
    if (typeof part === 'string') text += JSON.stringify(part.slice(0, longest + 1));
    else if (part === null || typeof part !== 'object') text += JSON.stringify(part) ?? 'null';
    else if (Array.isArray(part)) writeAll('[', ']', part.length, part.keys(), (index) => write(part[index]));
    else {
      const keys = Object.keys(part);
      writeAll('{', '}', keys.length, keys, (key) => {
        text += `${JSON.stringify(key.slice(0, longest))}:`;
        write((part as Record<string, unknown>)[key]);
      });
    }
  };
  const writeAll = <Key>(opening: string, closing: string, count: number, keys: Iterable<Key>, writeOne: (key: Key) => void): void => {
    text += opening;
    let written = 0;
    for (const key of keys) {
      if (text.length > longest) return;
      writeOne(key);
      written += 1;
      if (written < count) text += ',';
    }
    text += closing;
  };
  write(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

/** A list of possible values; a long list is cut. */
export function previewList(values: readonly Json[] | readonly string[], show: (value: Json) => string = (value) => preview(value)): string {
  let text = '';
  for (const [index, value] of values.entries()) {
    const next = `${index === 0 ? '' : ', '}${show(value)}`;
    if (text.length + next.length > LONGEST_LIST) return `${text} and ${values.length - index} more`;
    text += next;
  }
  return text;
}
