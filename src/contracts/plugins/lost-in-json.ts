/**
 * What JSON keeps nothing of, by its name: a generator, a stream, a promise, a Map or a Set, of which `JSON.stringify` makes `{}`. Undefined for other values.
 * Reads the value, which may have code of its own that throws.
 */
export function lostInJson(value: unknown, written: string): string | undefined {
  if (written !== '{}') return undefined;
  const {
    then,
    [Symbol.iterator]: iterate,
    [Symbol.asyncIterator]: iterateLater,
  } = value as Partial<Iterable<unknown> & AsyncIterable<unknown> & Promise<unknown>>;
  return [then, iterate, iterateLater].some((each) => typeof each === 'function') ? Object.prototype.toString.call(value).slice(8, -1) : undefined;
}
