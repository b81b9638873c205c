/** Something that JSON does not have, such as `Infinity` or a date, and where in a value it is. */
export interface NoJson {
  path: PropertyKey[];
  value: unknown;
}

/** The first of a value; undefined when all of it is JSON. The value is not nested deeply. */
export function noJsonIn(value: unknown): NoJson | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return undefined;
  const parts = partsOf(value);
  if (!parts) return { path: [], value };
  for (const [key, part] of parts) {
    const found = noJsonIn(part);
    if (found) return { path: [key, ...found.path], value: found.value };
  }
  return undefined;
}

/** Of lists and plain objects, those of another realm too; undefined for everything else. */
function partsOf(value: unknown): Iterable<[PropertyKey, unknown]> | undefined {
  if (Array.isArray(value)) return value.entries();
  if (typeof value !== 'object' || value === null || Object.prototype.toString.call(value) !== '[object Object]') return undefined;
  return Object.entries(value);
}
