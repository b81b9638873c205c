/**
 * Reads the parameters of a function that the bundler could not find in a plugin's source. Our own, since it runs in bundles of plugins, which have no parser.
 */
import { parseForeign } from '../../../contracts/foreign-json.ts';
import type { Json } from '../../../contracts/json.ts';
import type { Parameter } from './reader/method-source.ts';

/** A string, a comment, a name or number, or one character. Templates and regular expressions are read by `endOfToken`. */
const TOKEN = /\/\*[^]*?(?:\*\/|$)|\/\/.*|(["'])(?:\\[^]|(?!\1)[^\\])*\1|[\w$]+|=>|[^]/y;
/** A `/` after one of these characters begins a regular expression. */
const BEFORE_EXPRESSION = /[=([{,:;!&|?+\-*%<>~^]$/;

/** The parameters of a function's own text in JavaScript, without types. */
export function parametersOfText(text: string): Parameter[] {
  const [, single] = /^async\s+([\w$]+)\s*=>/.exec(text) ?? [];
  if (single !== undefined) return [readParameter(single)];
  const parts = [''];
  let depth = 0;
  let before = '';
  for (let at = startOfList(text); at < text.length;) {
    const end = endOfToken(text, at, before);
    const token = text.slice(at, end);
    at = end;
    if (/^\s|^\/[*/]/.test(token)) continue;
    before = token;
    if ('([{'.includes(token)) depth += 1;
    if (')]}'.includes(token)) depth -= 1;
    if (depth < 0) break;
    if (token === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts.filter((part) => part !== '').map(readParameter);
}

/** After the opening bracket. A name in `[…]` may have brackets, too. */
function startOfList(text: string): number {
  let at = 0;
  for (let brackets = 0; at < text.length;) {
    const end = endOfToken(text, at, '');
    const token = text.slice(at, end);
    at = end;
    if (token === '[') brackets += 1;
    if (token === ']') brackets -= 1;
    if (token === '(' && brackets === 0) break;
  }
  return at;
}

function endOfToken(text: string, at: number, before: string): number {
  const first = text.charAt(at);
  if (first === '`') return endOfTemplate(text, at);
  TOKEN.lastIndex = at;
  TOKEN.test(text);
  const end = Math.max(TOKEN.lastIndex, at + 1);
  return first === '/' && end === at + 1 && (before === '' || BEFORE_EXPRESSION.test(before)) ? endOfExpression(text, at) : end;
}

function endOfExpression(text: string, at: number): number {
  const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y;
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at + 1;
}

/** Templates within templates are counted by their brackets. */
function endOfTemplate(text: string, open: number): number {
  const inside = ['`'];
  const part = /\\[^]|\$\{|[`{}]/g;
  part.lastIndex = open + 1;
  for (let found = part.exec(text); found; found = part.exec(text)) {
    const [token] = found;
    const isText = inside.at(-1) === '`';
    if (token === (isText ? '`' : '}')) inside.pop();
    else if (token === '${' ? isText : !isText && token !== '}') inside.push(token === '`' ? '`' : '{');
    if (inside.length === 0) return part.lastIndex;
  }
  return text.length;
}

function readParameter(written: string): Parameter {
  const [, name = '', byDefault] = /^([\w$]+)(?:=([^]+))?$/.exec(written) ?? [];
  const value = byDefault === undefined ? undefined : literalOf(byDefault);
  return { written, name, optional: byDefault !== undefined, schema: value === undefined ? {} : { default: value } };
}

function literalOf(written: string): Json | undefined {
  try {
    return parseForeign(written.replace(/^'([^'"\\]*)'$/, '"$1"'));
  } catch {
    return undefined;
  }
}
