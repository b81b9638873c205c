/** Longest text of a tool's result that the model gets, in bytes of UTF-8. */
export const MAX_RESULT_BYTES = 32_768;

/**
 * Keeps head and tail of a text that is longer than `maxBytes` (UTF-8), cut between characters. `marker` gets the number of bytes between them.
 * The marker itself is not counted.
 */
export function cutText(text: string, maxBytes: number, marker: (omittedBytes: number) => string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  const half = Math.floor(maxBytes / 2);
  const headEnd = characterStart(bytes, half);
  const tailStart = nextCharacter(bytes, bytes.length - half);
  return bytes.toString('utf8', 0, headEnd) + marker(tailStart - headEnd) + bytes.toString('utf8', tailStart);
}

function characterStart(bytes: Buffer, offset: number): number {
  let at = offset;
  while (at > 0 && isContinuation(bytes[at])) at -= 1;
  return at;
}

function nextCharacter(bytes: Buffer, offset: number): number {
  let at = offset;
  while (at < bytes.length && isContinuation(bytes[at])) at += 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
