import { isAlias, isNode, isScalar, Lexer, LineCounter, parseDocument, Parser, visit, type Document, type YAMLMap } from 'yaml';

/** A text as YAML: its value, and the positions of its parts. */
export interface YamlDocument {
  document: Document;
  lines: LineCounter;
  value: unknown;
}

export type YamlProblem =
  /** `line` if it is known. */
  | { syntax: string; line?: number }
  /** A problem with aliases. */
  | { aliases: string; cause: unknown };

/** Files that people write have a few hundred lines. For some inputs the parser needs quadratic time; a nesting of some thousand levels ends the process. */
const MOST_CHARACTERS = 1_000_000;
const MOST_NESTED = 100;
/** By how much aliases may enlarge a document. */
const MOST_ALIASES = 100;
const MOST_WRITTEN = 300;

/** Reads a text in bounded time and memory. */
export function readYaml(text: string): YamlDocument | YamlProblem {
  if (text.length > MOST_CHARACTERS) return { syntax: `it has ${text.length} characters, and ${MOST_CHARACTERS} are read at most` };
  const lines = new LineCounter();
  const excess = excessOf(text);
  if (excess) return excess;
  // The parser's error excerpts and its comparison of all keys would need quadratic time.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  // A tag that is not known would be read over, and what it stands before taken as a text.
  const [broken] = [...document.errors, ...document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')];
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

/**
 * Uses only the lexer and the token parser, which have a stack of their own and so accept any depth. The step that makes nodes is recursive, and searches the
 * whole document for each alias.
 */
function excessOf(text: string): YamlProblem | undefined {
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let aliases = 0;
  for (const token of new Lexer().lex(text)) {
    if (/^\*\S+$/.test(token)) aliases += 1;
    for (const _ of parser.next(token)) continue;
    if (aliases > MOST_WRITTEN) return { syntax: `it has more than ${MOST_WRITTEN} aliases`, line: lines.linePos(parser.offset).line };
    // A map and its value are two entries of the stack.
    if (parser.stack.length > 2 * MOST_NESTED) return { syntax: `it is nested more than ${MOST_NESTED} deep`, line: lines.linePos(parser.offset).line };
  }
  return undefined;
}

function repeatedKey(document: Document): { message: string; at: number } | undefined {
  let found: { message: string; at: number } | undefined;
  visit(document, {
    Map(_, map) {
      const at = firstRepeated(map, document);
      if (at === undefined) return undefined;
      found = { message: 'Map keys must be unique', at };
      return visit.BREAK;
    },
  });
  return found;
}

/** Where a key is that names the same as one before: in JavaScript, the number 1 and the text "1" do. */
function firstRepeated(map: YAMLMap, document: Document): number | undefined {
  const seen = new Set<unknown>();
  for (const { key } of map.items) {
    const named = isAlias(key) ? key.resolve(document) : key;
    const value = isScalar<string | number | boolean | null>(named) ? String(named.value ?? '') : (named ?? '');
    if (seen.has(value)) return (isNode(key) ? key.range?.[0] : undefined) ?? 0;
    seen.add(value);
  }
  return undefined;
}

/** @throws an Error for aliases that refer to nothing, form a cycle, or enlarge the document too much. */
function valueOf(document: Document): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
  // Code that reads a cyclic value would never end.
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
