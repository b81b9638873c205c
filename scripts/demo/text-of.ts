import type { Json } from '../../src/contracts/json.ts';

/** A value of an event as text: texts as they are, the rest as JSON. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
