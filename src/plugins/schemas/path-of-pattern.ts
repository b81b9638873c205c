import type { Json, JsonObject } from '../../contracts/json.ts';

/** Where a schema has a regular expression, as a JSON pointer. An expression's own text escapes slashes, and may have been cut. */
export function pathOfPattern(schema: JsonObject, source: string): string | undefined {
  const plain = source.replaceAll('\\/', '/');
  const isIt = (text: Json | undefined) => typeof text === 'string' && text.replaceAll('\\/', '/').startsWith(plain);
  const search = (part: Json, path: string): string | undefined => {
    if (part === null || typeof part !== 'object') return undefined;
    const { pattern, patternProperties = {} } = part as JsonObject;
    if (isIt(pattern)) return `${path}/pattern`;
    if (Object.keys(patternProperties ?? {}).some(isIt)) return `${path}/patternProperties`;
    for (const [key, inner] of Object.entries(part)) {
      const found = search(inner, `${path}/${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search(schema, '');
}
