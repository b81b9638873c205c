/** Replaces `${env.NAME}` in all texts of a value. `missing` is called with the name and the path of a variable that is not set. */
export function fillInEnvironment(
  value: unknown,
  read: (name: string) => string | undefined,
  missing: (name: string, path: PropertyKey[]) => Error,
  path: PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(/\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = read(name);
      if (found === undefined) throw missing(name, path);
      return found;
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => fillInEnvironment(item, read, missing, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fillInEnvironment(inner, read, missing, [...path, key])]));
}
