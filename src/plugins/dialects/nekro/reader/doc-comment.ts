/** Reads doc comments: tags with comment-parser, and the sections of Python's styles by our own code, since no package for JavaScript reads those. */
import { parse } from 'comment-parser';

/** The content of a method's doc comment. */
export interface DocComment {
  /** The whole text, without the stars. */
  text: string;
  /** By the parameter's name: its entry under `Args:`, under an underlined `Parameters`, or after `@param`. */
  parameters: Map<string, Described>;
}

interface Described {
  type: string | undefined;
  description: string;
}

const SECTION = /^(Args|Arguments|Parameters|Returns|Yields|Raises|Notes?|Examples?)\s*(:?)$/;
const PARAMETERS = /^(Args|Arguments|Parameters)$/;
const BY_COLON = /^([\w$]+)\s*(?:\(([^)]*)\)\s*)?:\s*(.*)$/;
const UNDERLINED = /^([\w$]+)(?:\s*:\s*(.*))?$/;
const PARAMETER_TAG = /^(param|arg|argument)$/;

/** Reads a comment in the style of Google or NumPy (Python), or of JSDoc. */
export function readDocComment(comment: string): DocComment {
  const lines = linesOf(comment);
  const parameters = new Map([...parametersBySection(lines), ...parametersByTag(lines)]);
  return { text: lines.join('\n').trim(), parameters };
}

/** The lines without the marks of a comment. A text that is no comment has none. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n|[\r\u2028\u2029]/).map((line) => line.trimEnd());
  if (!/^\s*\/\*\*/.test(text)) return lines;
  const inner = text.replace(/^\s*\/\*\*/, '').replace(/\*\/\s*$/, '');
  return inner.split(/\r?\n|[\r\u2028\u2029]/).map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
}

function parametersBySection(lines: string[]): Map<string, Described> {
  const headings = lines.map((line, index) => headingOf(line, lines[index + 1]));
  const parameters = new Map<string, Described>();
  for (const [index, heading] of headings.entries()) {
    if (!heading || !PARAMETERS.test(heading.name)) continue;
    let end = index + 1;
    while (end < headings.length && headings[end] === undefined) end += 1;
    readEntries(lines.slice(index + heading.lines, end), heading.entry, parameters);
  }
  return parameters;
}

function headingOf(line: string, next = ''): { name: string; entry: RegExp; lines: number } | undefined {
  const [, name, colon] = SECTION.exec(line.trim()) ?? [];
  if (name === undefined) return undefined;
  if (colon === ':') return { name, entry: BY_COLON, lines: 1 };
  return /^-{3,}$/.test(next.trim()) ? { name, entry: UNDERLINED, lines: 2 } : undefined;
}

/** Entries have the indentation of the first one. A line with another indentation continues the entry before it. */
function readEntries(lines: string[], entry: RegExp, parameters: Map<string, Described>): void {
  const written = lines.filter((line) => line !== '');
  const indent = written[0]?.search(/\S/);
  let last: Described | undefined;
  for (const line of written) {
    const found = line.search(/\S/) === indent ? entry.exec(line.trim()) : null;
    if (found) parameters.set(found[1] ?? '', (last = { type: found[2], description: found[3] ?? '' }));
    else if (last) last.description = `${last.description} ${line.trim()}`.trim();
  }
}

function parametersByTag(lines: string[]): Map<string, Described> {
  const parameters = new Map<string, Described>();
  // A `*` begins each line, so that one of the text's own stays in it.
  const [block] = parse(['/**', ...lines.map((line) => ` * ${line}`), ' */'].join('\n'), { spacing: 'preserve' });
  for (const { tag, name, type, description, problems } of block?.tags ?? []) {
    // A name with a dot is a part of a parameter, which the text tells.
    if (!PARAMETER_TAG.test(tag) || name.includes('.') || problems.some(({ critical }) => critical)) continue;
    const [paragraph = ''] = description.split(/\n\s*\n/);
    const words = paragraph.split('\n').map((line) => line.trim());
    parameters.set(name, { type: type || undefined, description: words.join(' ').trim().replace(/^-\s*/, '') });
  }
  return parameters;
}
