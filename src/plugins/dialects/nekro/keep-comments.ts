/** What is handed to a mounted method besides the function itself, since a bundle has neither comments nor types. */
export interface MethodSource {
  name?: string;
  doc?: string;
  signature?: string;
}

// None of these may take more than the length of a source: they run in the worker, over a text that somebody else has written.
const MOUNT = /(?<![\w$.])[\w$.]+\.mountSandboxMethod\s*(?=\()/g;
const FUNCTION = /^\s*(?:(\/\*\*[\s\S]*?\*\/)\s*)?(?:async\s+)?function\s*(?:\*\s*)?(?:([\w$]+)\s*)?(?=\()/;
const REFERENCE = /^\s*([\w$]+)\s*(?:,\s*)?$/;
/** Calls whose brackets do not end, after which the rest of a source is not looked at. */
const MOST_OPEN = 20;

/**
 * Writes the doc comments and parameter lists of mounted methods into a source, as an argument beside each function. The comment stands before the call of
 * `mountSandboxMethod`, before the function, or at the top of its body. What cannot be read stays as it is.
 */
export function keepComments(source: string): string {
  let written = '';
  let done = 0;
  let unclosed = 0;
  for (const { 0: call, index } of source.matchAll(MOUNT)) {
    const mounted = endOf(source, index + call.length);
    const open = mounted === undefined ? -1 : mounted + source.slice(mounted).search(/\S/);
    const close = open >= 0 && source[open] === '(' ? endOf(source, open) : undefined;
    if (close === undefined && (unclosed += 1) > MOST_OPEN) break;
    if (close === undefined || index < done) continue;
    const given = source.slice(open + 1, close - 1);
    const found = describe(source, given, source.slice(0, index));
    if (!found) continue;
    written += source.slice(done, close - 1).replace(/,\s*$/, '') + `, ${JSON.stringify(found)}`;
    done = close - 1;
  }
  return written + source.slice(done);
}

/** What a function's own text tells, where nothing was written beside it: the comment at the top of its body. */
export function commentWithin(text: string): string | undefined {
  return describeFunction(text, undefined)?.doc;
}

function describe(source: string, given: string, before: string): MethodSource | undefined {
  const reference = REFERENCE.exec(given)?.[1];
  if (reference === undefined) return describeFunction(given, commentAtEnd(before));
  const at = source.search(new RegExp(`(?:async\\s+)?function\\s*(?:\\*\\s*)?${reference.replaceAll('$', '\\$')}\\s*\\(`));
  return at === -1 ? undefined : describeFunction(source.slice(at), commentAtEnd(source.slice(0, at).replace(/export\s+$/, '')) ?? commentAtEnd(before));
}

function describeFunction(text: string, commentBefore: string | undefined): MethodSource | undefined {
  const head = FUNCTION.exec(text);
  if (!head) return undefined;
  const open = head[0].length;
  const close = endOf(text, open);
  if (close === undefined) return undefined;
  const inside = /^\s*(?::[^{]*)?\{\s*(\/\*\*[\s\S]*?\*\/)/.exec(text.slice(close))?.[1];
  const doc = inside ?? head[1] ?? commentBefore;
  return { ...(head[2] && { name: head[2] }), ...(doc !== undefined && { doc }), signature: text.slice(open + 1, close - 1) };
}

function commentAtEnd(text: string): string | undefined {
  if (!text.trimEnd().endsWith('*/')) return undefined;
  const start = text.lastIndexOf('/**');
  return start === -1 ? undefined : text.slice(start).trim();
}

/** Where the bracket that opens at an index has been closed; strings and comments are passed over. */
function endOf(source: string, open: number): number | undefined {
  const token = /\/\*[\s\S]*?(?:\*\/|$)|\/\/.*|(['"`])(?:\\[\s\S]|(?!\1)[^\\])*\1|[()[\]{}]/g;
  token.lastIndex = open;
  let depth = 0;
  for (let found = token.exec(source); found; found = token.exec(source)) {
    if (found[0].length > 1) continue;
    depth += '([{'.includes(found[0]) ? 1 : -1;
    if (depth === 0) return token.lastIndex;
  }
  return undefined;
}
