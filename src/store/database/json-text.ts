/**
 * JSON text that Postgres accepts. Postgres refuses NUL and lone surrogates, and real tools and models produce both;
 * each becomes U+FFFD.
 */
export function toJsonText(value: unknown): string {
  return asKept(JSON.stringify(value));
}

/** JSON text as Postgres returns it. Replacing in the finished text avoids a walk through the value. */
export function asKept(text: string): string {
  // Every escape is matched, so that the `u0000` after an escaped backslash (`\\u0000`) is not replaced.
  return text.includes('\\u') ? text.replaceAll(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (found) => (REFUSED.test(found) ? '\uFFFD' : found)) : text;
}

const REFUSED = /^\\u(?:0000|d[89a-f])/;

/** Text without NUL, which Postgres cannot store. */
export function toPlainText(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
