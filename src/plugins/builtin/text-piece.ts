/** Less than what a result may have before it is cut. */
const MOST_BYTES = 28_000;

/**
 * A piece of a long text, with how to go on when it is not the last one.
 * @param place the arguments with which the text is read, besides the offset
 * @param before characters of `text` that do not count in the offset
 */
export function pieceOf(text: string, offset: number, place: Record<string, string>, before = 0): string {
  let [end, bytes] = [offset, 0];
  for (const character of text.slice(offset)) {
    bytes += Buffer.byteLength(character);
    if (bytes > MOST_BYTES) break;
    end += character.length;
  }
  if (end >= text.length) return text.slice(offset) || '(nothing)';
  return `${text.slice(offset, end)}\n[It goes on: ${JSON.stringify({ ...place, offset: end - before })}]`;
}
