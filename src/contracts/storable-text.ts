/** Describes what Postgres or UTF-8 cannot store without a change of the text. Undefined for a text that is stored as it is. */
export function unstorable(text: string): string | undefined {
  const nul = text.indexOf('\0');
  if (nul !== -1) return `a NUL character at position ${nul}`;
  const surrogate = text.search(/\p{Cs}/u);
  return surrogate === -1 ? undefined : `half a character (a lone surrogate) at position ${surrogate}`;
}
