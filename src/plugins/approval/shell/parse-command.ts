import { parse, type ParsedScript } from 'unbash';

/** Longer texts are not parsed, since decisions are made in the worker's event loop. */
const LONGEST = 32_768;
/** Each level of nesting has the parser look at what is inside of it once more. */
const DEEPEST = 10;
/** The parser's time grows with the square of their number on one line. */
const MOST_HERE_DOCUMENTS = 50;
const BRACKETS = /\$\(|\$\{|[<>]\(|\(|\)|\}/g;

/** A shell command as bash reads it; undefined where it is too large or too deep to be parsed at once, or cannot be parsed at all. */
export function parseCommand(text: string): ParsedScript | undefined {
  if (text.length > LONGEST || text.includes('\0') || text.split('<<').length - 1 > MOST_HERE_DOCUMENTS || isTooDeep(text)) return undefined;
  try {
    const script = parse(text);
    return script.errors && script.errors.length > 0 ? undefined : script;
  } catch {
    // Where its own recursion overflows.
    return undefined;
  }
}

/** By brackets alone, whatever quotes they stand in. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.matchAll(BRACKETS)) {
    depth = bracket === ')' || bracket === '}' ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest > DEEPEST;
}
