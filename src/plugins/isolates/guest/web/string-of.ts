/** Converts any argument to a string, as the platform does. */
export function stringOf(value: unknown): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- an object without a text of its own is converted too
  return String(value);
}
