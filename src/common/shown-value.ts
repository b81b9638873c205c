import { visibleJson } from '../contracts/visible-text.ts';

const LONGEST = 200;

/** Any JavaScript value as text for an error message. Does not read properties of objects, because a getter or a proxy could throw. */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > LONGEST ? `${visibleJson(value.slice(0, LONGEST))} and ${value.length - LONGEST} more characters` : visibleJson(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return `${value.toString().slice(0, LONGEST)}n`;
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
    default:
      return value === null ? 'null' : isArray(value) ? 'an array' : 'an object';
  }
}

/** `Array.isArray` throws for a revoked proxy. */
function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
