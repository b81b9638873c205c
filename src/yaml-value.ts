import type { Document } from 'yaml';

/** How much larger aliases may make a document. */
const MOST_ALIASES = 100;

/**
 * The plain value of a document.
 * @throws an Error for aliases that lead nowhere, into a circle, or to far more than is written
 */
export function yamlValue(document: Document): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
  // A circle would be walked for ever by those who read the value.
  if (isCircular(value, new Set())) throw new Error('an alias stands within what it refers to');
  return value;
}

function isCircular(value: unknown, above: Set<object>): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some((inner) => isCircular(inner, above));
  above.delete(value);
  return found;
}
