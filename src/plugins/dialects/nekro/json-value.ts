import type { Json } from '../../../contracts/json.ts';

/**
 * The result of a method as the value for the calling code; undefined becomes null.
 * @throws an Error with the path of the first part that JSON would change silently.
 */
export function jsonOf(result: unknown): Json {
  const problem = result === undefined ? undefined : problemOf(result, 'result', []);
  if (problem !== undefined) throw new Error(`it returned a value that is not JSON: ${problem}`);
  return (result ?? null) as Json;
}

function problemOf(value: unknown, path: string, above: object[]): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${path} is ${value}; return null or a text`;
    case 'object':
      return value === null ? undefined : problemOfObject(value, path, above);
    default:
      return `${path} is a ${typeof value}`;
  }
}

function problemOfObject(value: object, path: string, above: object[]): string | undefined {
  if (above.includes(value)) return `${path} contains itself, a circular structure`;
  if (value instanceof Map) return `${path} is a Map; return Object.fromEntries(it)`;
  if (value instanceof Set) return `${path} is a Set; return [...it]`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return `${path} is bytes; put them into the sandbox with ctx.fs.mixedForwardFile and return the path`;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return undefined;
  // As usual in JSON: an undefined property is left out, and an undefined element of a list becomes null.
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  for (const [name, part] of parts) {
    const problem = problemOf(part, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, [...above, value]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
