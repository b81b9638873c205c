/** `fill`: the variables of a text are filled in. `check`: they must be set, but the text stays as it is. `leave`: the text is not looked at. */
export type Treatment = 'fill' | 'check' | 'leave';

/**
 * Replaces `${env.NAME}` in the texts of a value. `treat` decides by the path of each text. `missing` is called with the name and the path of a variable
 * that is not set; it returns the error to throw, or the text to use instead.
 */
export function fillInEnvironment(
  value: unknown,
  read: (name: string) => string | undefined,
  missing: (name: string, path: PropertyKey[]) => Error | string,
  treat: (path: PropertyKey[]) => Treatment = () => 'fill',
  path: PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') {
    const treatment = treat(path);
    if (treatment === 'leave') return value;
    const filled = value.replaceAll(/\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = read(name) ?? missing(name, path);
      if (typeof found !== 'string') throw found;
      return found;
    });
    return treatment === 'check' ? value : filled;
  }
  if (Array.isArray(value)) return value.map((item, index) => fillInEnvironment(item, read, missing, treat, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fillInEnvironment(inner, read, missing, treat, [...path, key])]));
}
