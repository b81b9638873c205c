/** What walks a value calls itself for each level, and overflows the stack at some thousand. */
export const MOST_NESTED = 500;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Whether JSON is nested more deeply than those can take who read it. Looks at the text, so that nothing is made of it first. */
export function isTooDeep(json: string): boolean {
  let depth = 0;
  // Each level takes two characters.
  if (json.length < 2 * MOST_NESTED) return false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) at = endOfString(json, at);
    else if (character === OPEN_LIST || character === OPEN_OBJECT) depth += 1;
    else if (character === CLOSE_LIST || character === CLOSE_OBJECT) depth -= 1;
    if (depth > MOST_NESTED) return true;
  }
  return false;
}

function endOfString(json: string, open: number): number {
  for (let end = json.indexOf('"', open + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return json.length;
}
