/** What the platform makes of an argument that has to be a string: whatever it is, it is converted. */
export function stringOf(value: unknown): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- an object without a text of its own is converted too
  return String(value);
}
