/**
 * Replaces `${env.NAME}` in all texts of a value. `missing` is called with the name and the path of a variable that is not set. Texts whose path
 * `keeps` names stay as they are: they are filled in when they are needed.
 */
export function fillInEnvironment(
  value: unknown,
  read: (name: string) => string | undefined,
  missing: (name: string, path: PropertyKey[]) => Error,
  keeps: (path: PropertyKey[]) => boolean = () => false,
  path: PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') {
    const filled = value.replaceAll(/\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = read(name);
      if (found === undefined) throw missing(name, path);
      return found;
    });
    return keeps(path) ? value : filled;
  }
  if (Array.isArray(value)) return value.map((item, index) => fillInEnvironment(item, read, missing, keeps, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fillInEnvironment(inner, read, missing, keeps, [...path, key])]));
}
