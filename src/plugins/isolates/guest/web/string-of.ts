/** What the platform makes of an argument that has to be a string: whatever it is, it is converted. */
export function stringOf(value: unknown): string {
  return `${value as string}`;
}
