/**
 * Whether a text matches a pattern in which `*` stands for any text, also for none and for line breaks. All else is literal and case-sensitive.
 * It never backtracks, so no pattern and no text can make it slow.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return pattern === text;
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return false;
  const end = text.length - tail.length;
  let position = head.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, position);
    if (found === -1 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return true;
}
