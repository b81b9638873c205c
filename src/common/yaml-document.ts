import { isMap, isScalar, Lexer, LineCounter, parseDocument, Parser, visit, type Document, type YAMLMap } from 'yaml';

/** A text as YAML: its value, and where its parts stand. */
export interface YamlDocument {
  document: Document;
  lines: LineCounter;
  value: unknown;
}

export type YamlProblem =
  /** `line` where it can be told. */
  | { syntax: string; line?: number }
  /** Of aliases. */
  | { aliases: string; cause: unknown };

/** Files that people write have some hundred lines; the parser takes the square of some sizes, and ends the process at a depth of some thousand. */
const MOST_CHARACTERS = 1_000_000;
const MOST_NESTED = 100;
/** How much larger aliases may make a document. */
const MOST_ALIASES = 100;
const MOST_WRITTEN = 300;

/** Reads a text in bounded time and memory. */
export function readYaml(text: string): YamlDocument | YamlProblem {
  if (text.length > MOST_CHARACTERS) return { syntax: `it has ${text.length} characters, and ${MOST_CHARACTERS} are read at most` };
  const lines = new LineCounter();
  const excess = excessOf(text);
  if (excess) return excess;
  // The excerpts of each error, and the comparison of all keys, would take the square of their number.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const [broken] = document.errors;
  const found = broken ? { message: broken.message, at: broken.pos[0] } : repeatedKey(document);
  if (found) {
    const { line, col } = lines.linePos(found.at);
    return { syntax: `${found.message} at line ${line}, column ${col}`, line };
  }
  try {
    return { document, lines, value: valueOf(document) };
  } catch (cause) {
    return { aliases: (cause as Error).message, cause };
  }
}

/** The lexer and the parser of tokens keep a stack of their own, unlike what makes nodes of them; that looks for each alias in the whole document. */
function excessOf(text: string): YamlProblem | undefined {
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let aliases = 0;
  for (const token of new Lexer().lex(text)) {
    if (/^\*\S+$/.test(token)) aliases += 1;
    for (const _ of parser.next(token)) continue;
    if (aliases > MOST_WRITTEN) return { syntax: `it has more than ${MOST_WRITTEN} aliases`, line: lines.linePos(parser.offset).line };
    // A map and its value are two.
    if (parser.stack.length > 2 * MOST_NESTED) return { syntax: `it is nested more than ${MOST_NESTED} deep`, line: lines.linePos(parser.offset).line };
  }
  return undefined;
}

function repeatedKey(document: Document): { message: string; at: number } | undefined {
  let found: { message: string; at: number } | undefined;
  visit(document, {
    Map(_, map) {
      const at = firstRepeated(map);
      if (at === undefined) return undefined;
      found = { message: 'Map keys must be unique', at };
      return visit.BREAK;
    },
  });
  return found;
}

function firstRepeated(map: YAMLMap): number | undefined {
  const seen = new Set<unknown>();
  for (const { key } of map.items) {
    const value = isScalar(key) ? key.value : key;
    if (seen.has(value)) return (isScalar(key) || isMap(key) ? key.range?.[0] : undefined) ?? 0;
    seen.add(value);
  }
  return undefined;
}

/** @throws an Error for aliases that lead nowhere, into a circle, or to far more than is written. */
function valueOf(document: Document): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
  // A circle would be walked for ever by those who read the value.
  if (isCircular(value, new Set())) throw new Error('an alias stands within what it refers to');
  return value;
}

function isCircular(value: unknown, above: Set<object>): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some((inner) => isCircular(inner, above));
  above.delete(value);
  return found;
}
