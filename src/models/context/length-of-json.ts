/**
 * The length of an array as JSON. What was measured of a frozen item is remembered for as long as there is the item: the entries of a long transcript are the same in each
 * step of its conversation.
 */
export function createArrayMeasure(
  measure: (json: string) => number,
  replacer?: (name: string, value: unknown) => unknown,
): (items: readonly object[]) => number {
  const known = new WeakMap<object, number>();
  const lengthOf = (item: object): number => {
    const found = known.get(item);
    if (found !== undefined) return found;
    const length = measure(JSON.stringify(item, replacer));
    if (Object.isFrozen(item)) known.set(item, length);
    return length;
  };
  // The brackets, and the commas between the items.
  return (items) => items.reduce((sum, item) => sum + lengthOf(item), 2 + Math.max(0, items.length - 1));
}
