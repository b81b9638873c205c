/** A value as a line of a log; nothing that code of the plugin could make fail. */
export function textOf(value: unknown): string {
  try {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    return (typeof value === 'object' && value !== null ? JSON.stringify(value) : undefined) ?? String(value);
  } catch {
    return 'something that has no text';
  }
}
