import { visibleJson, visibleLine } from '../contracts/visible-text.ts';

const SHOWN_CHARACTERS = 60;

/** A value as an error message names it: short, on one line, with all characters visible, and without running any code of the value. */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return showText(value);
    case 'bigint':
      return `${shorten(String(value))}n`;
    case 'function':
      return 'a function';
    case 'symbol':
      return shorten(visibleLine(String(value)));
    case 'object':
      return showObject(value);
    default:
      return String(value);
  }
}

function showText(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return visibleJson(text);
  return `${visibleJson(text.slice(0, SHOWN_CHARACTERS))}… (${text.length} characters)`;
}

function shorten(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

function showObject(value: object | null): string {
  if (value === null) return 'null';
  try {
    if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
    return ArrayBuffer.isView(value) ? 'binary data' : 'an object';
  } catch {
    // `Array.isArray` throws for a revoked proxy.
    return 'an object that cannot be read';
  }
}
