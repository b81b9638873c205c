import { parse, type ParsedScript } from 'unbash';

/** Longer texts are not parsed, because parsing blocks the worker's event loop. */
const LONGEST = 32_768;
/** With each level of nesting, the parser reads the nested text once more. */
const DEEPEST = 10;
/** The parser's time grows with the square of the number of here-documents on one line. */
const MOST_HERE_DOCUMENTS = 50;
const BRACKETS = /\$\(|\$\{|[<>]\(|\(|\)|\}/g;

/** Parses a shell command as bash does; undefined if it is too large, too deep or cannot be parsed. */
export function parseCommand(text: string): ParsedScript | undefined {
  if (text.length > LONGEST || text.includes('\0') || text.split('<<').length - 1 > MOST_HERE_DOCUMENTS || isTooDeep(text)) return undefined;
  try {
    const script = parse(text);
    return script.errors && script.errors.length > 0 ? undefined : script;
  } catch {
    // The recursion of the parser can overflow the stack.
    return undefined;
  }
}

/** Counts all brackets, also those inside quotes. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.matchAll(BRACKETS)) {
    depth = bracket === ')' || bracket === '}' ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest > DEEPEST;
}
