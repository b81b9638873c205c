import type { Json, JsonObject } from '../../contracts/json.ts';

/** The JSON pointer to a regular expression in a schema. `source` escapes slashes and may be cut. */
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
