/** What is passed with a mounted method besides the function itself, because a bundle has neither comments nor types. */
export interface MethodSource {
  name?: string;
  doc?: string;
  signature?: string;
}

// None of these may take more than linear time: they run in the worker, over untrusted text.
const MOUNT = /(?<![\w$.])[\w$.]+\.mountSandboxMethod\s*(?=\()/g;
const FUNCTION = /^\s*(?:(\/\*\*[\s\S]*?\*\/)\s*)?(?:async\s+)?function\s*(?:\*\s*)?(?:([\w$]+)\s*)?(?=\()/;
const REFERENCE = /^\s*([\w$]+)\s*(?:,\s*)?$/;
/** After so many calls without a closing bracket, the rest of a source is not read. */
const MOST_OPEN = 20;
/** Most characters that are read for one source, repeated reads included; takes some tenths of a second. */
const MOST_LOOKED_AT = 20_000_000;

/** Counts characters that are read. */
type Spend = (characters: number) => void;

/**
 * Writes the doc comments and parameter lists of mounted methods into a source, as an argument after each function. The comment is before the call of
 * `mountSandboxMethod`, before the function, or at the top of its body. A call that cannot be read stays unchanged.
 */
export function keepComments(source: string): string {
  const spend = createBudget();
  let written = '';
  let done = 0;
  let unclosed = 0;
  for (const { 0: call, index } of source.matchAll(MOUNT)) {
    const mounted = endOf(source, index + call.length, spend);
    const open = mounted === undefined ? -1 : nextCharacter(source, mounted);
    const close = open >= 0 && source[open] === '(' ? endOf(source, open, spend) : undefined;
    if (close === undefined && (unclosed += 1) > MOST_OPEN) break;
    if (close === undefined || index < done) continue;
    const given = source.slice(open + 1, close - 1);
    const found = describe(source, given, source.slice(0, index), spend);
    if (!found) continue;
    written += source.slice(done, close - 1).replace(/,\s*$/, '') + `, ${JSON.stringify(found)}`;
    done = close - 1;
  }
  return written + source.slice(done);
}

function createBudget(): Spend {
  let left = MOST_LOOKED_AT;
  return (characters) => {
    left -= characters;
    if (left < 0) throw new Error('it mounts so many methods, or nests them so, that they cannot be read; put some of them into other files');
  };
}

function nextCharacter(source: string, from: number): number {
  const next = /\S/g;
  next.lastIndex = from;
  return next.exec(source)?.index ?? -1;
}

/** The comment at the top of a function's body, for a function that was mounted without a comment. */
export function commentWithin(text: string): string | undefined {
  return describeFunction(text, undefined, () => undefined)?.doc;
}

function describe(source: string, given: string, before: string, spend: Spend): MethodSource | undefined {
  const reference = REFERENCE.exec(given)?.[1];
  if (reference === undefined) return describeFunction(given, commentAtEnd(before, spend), spend);
  spend(source.length);
  const at = source.search(new RegExp(`(?:async\\s+)?function\\s*(?:\\*\\s*)?${reference.replaceAll('$', '\\$')}\\s*\\(`));
  if (at === -1) return undefined;
  return describeFunction(source.slice(at), commentAtEnd(source.slice(0, at).replace(/export\s+$/, ''), spend) ?? commentAtEnd(before, spend), spend);
}

function describeFunction(text: string, commentBefore: string | undefined, spend: Spend): MethodSource | undefined {
  spend(text.length);
  const head = FUNCTION.exec(text);
  if (!head) return undefined;
  const open = head[0].length;
  const close = endOf(text, open, spend);
  if (close === undefined) return undefined;
  const inside = /^\s*(?::[^{]*)?\{\s*(\/\*\*[\s\S]*?\*\/)/.exec(text.slice(close))?.[1];
  const doc = inside ?? head[1] ?? commentBefore;
  return { ...(head[2] && { name: head[2] }), ...(doc !== undefined && { doc }), signature: text.slice(open + 1, close - 1) };
}

function commentAtEnd(text: string, spend: Spend): string | undefined {
  const trimmed = text.trimEnd();
  spend(text.length - trimmed.length);
  if (!trimmed.endsWith('*/')) return undefined;
  const start = trimmed.lastIndexOf('/**');
  spend(trimmed.length - start);
  return start === -1 ? undefined : trimmed.slice(start);
}

/** The index after the bracket that closes the one at `open`. Strings and comments are skipped. */
function endOf(source: string, open: number, spend: Spend): number | undefined {
  const token = /\/\*[\s\S]*?(?:\*\/|$)|\/\/.*|(['"`])(?:\\[\s\S]|(?!\1)[^\\])*\1|[()[\]{}]/g;
  token.lastIndex = open;
  let depth = 0;
  let last = open;
  for (let found = token.exec(source); found; found = token.exec(source)) {
    spend(token.lastIndex - last);
    last = token.lastIndex;
    if (found[0].length > 1) continue;
    depth += '([{'.includes(found[0]) ? 1 : -1;
    if (depth === 0) return token.lastIndex;
  }
  spend(source.length - last);
  return undefined;
}
