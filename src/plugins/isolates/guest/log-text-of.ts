/** A value as a line of a log. Never throws, whatever code of the plugin the value runs. */
export function logTextOf(value: unknown): string {
  try {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    return (typeof value === 'object' && value !== null ? JSON.stringify(value) : undefined) ?? String(value);
  } catch {
    return 'something that has no text';
  }
}
