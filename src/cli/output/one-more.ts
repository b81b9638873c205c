/** The values of an option that may be repeated. */
export function oneMore(value: string, before: string[] = []): string[] {
  return [...before, value];
}
