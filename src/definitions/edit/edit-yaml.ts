import { isDeepStrictEqual } from 'node:util';
import { Document, isCollection, isMap, isSeq, Lexer, visit, type Node, type Pair } from 'yaml';
import { readYaml } from '../../common/yaml-document.ts';
import type { Json } from '../../contracts/json.ts';

/** The token of the lexer before a text. */
const SCALAR = '\u001F';

/** A value as YAML on one line. */
export function yamlLine(value: Json): string {
  const document = new Document(value);
  visit(document, { Collection: (_, node) => void (node.flow = true) });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true, singleQuote: true }).trim();
}

/**
 * The text of a YAML file with an item in a list at its top level: in place of the one at `index`, or at the end. All other lines stay as they are, and comments within
 * the item that is replaced stand behind the new one. Undefined where the text is written in a way that is not changed here, such as with aliases.
 */
export function withItem(text: string, key: string, index: number | undefined, item: Json): string | undefined {
  const read = readYaml(text);
  if (!('value' in read)) return undefined;
  const node = read.document.get(key, true) as Node | undefined;
  const items = (isSeq(node) ? node.items : []) as Node[];
  const replaced = index === undefined ? undefined : items[index];
  const [written, sign] = [yamlLine(item), '- '];
  const changed = replaced ? inPlace(text, node, replaced, written) : appended(text, key, node, { written, sign, first: items[0], last: items.at(-1) });
  const before = (read.value as Record<string, Json[] | undefined>)[key] ?? [];
  return checked(changed, read.value, key, index === undefined ? [...before, item] : before.map((one, at) => (at === index ? item : one)));
}

/** The same for an entry of a map at the top level, in place of the one with that name, if there is one. */
export function withEntry(text: string, key: string, name: string, value: Json): string | undefined {
  const read = readYaml(text);
  if (!('value' in read)) return undefined;
  const node = read.document.get(key, true) as Node | undefined;
  const items = (isMap(node) ? node.items : []) as Pair<Node, Node | null>[];
  const known = items.find((pair) => String(pair.key) === name)?.value;
  const last = items.at(-1);
  const written = `${name}: ${yamlLine(value)}`;
  const addition = { written, sign: '', first: items[0]?.key, last: last?.value ?? last?.key };
  const changed = known ? inPlace(text, node, known, yamlLine(value)) : appended(text, key, node, addition);
  const before = (read.value as Record<string, Record<string, Json> | undefined>)[key];
  return checked(changed, read.value, key, { ...before, [name]: value });
}

/** Undefined unless the new text means what it is meant to mean. */
function checked(changed: string | undefined, before: unknown, key: string, value: Json): string | undefined {
  const after = changed === undefined ? undefined : readYaml(changed);
  if (!after || !('value' in after)) return undefined;
  return isDeepStrictEqual(after.value, { ...(before as object), [key]: value }) ? changed : undefined;
}

function inPlace(text: string, collection: Node | undefined, node: Node, written: string): string | undefined {
  if (!node.range) return undefined;
  const [start] = node.range;
  const end = endOf(text, node);
  const comments = commentsIn(text, start, end);
  // In brackets, what follows would become a part of the comment.
  if (comments.length > 0 && isCollection(collection) && collection.flow === true) return undefined;
  return text.slice(0, start) + [written, ...comments].join(' ') + text.slice(end);
}

function commentsIn(text: string, start: number, end: number): string[] {
  const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1);
  const tokens = [...new Lexer().lex(indent + text.slice(start, end))];
  return tokens.filter((token, index) => token.startsWith('#') && tokens[index - 1] !== SCALAR).map((comment) => comment.trimEnd());
}

/** Where the text of a node ends. The range of a block includes the line break after it. */
function endOf(text: string, { range }: Node): number {
  const [start = 0, end = 0] = range ?? [];
  return start + text.slice(start, end).trimEnd().length;
}

interface Addition {
  written: string;
  /** What begins an item of a block. */
  sign: string;
  first: Node | undefined;
  last: Node | undefined;
}

/** @param node what stands behind the key, if it is there */
function appended(text: string, key: string, node: Node | undefined, addition: Addition): string | undefined {
  const { written, sign } = addition;
  if (isCollection(node) && node.flow === true) return inBrackets(text, node, addition);
  if (addition.first && addition.last) return belowLast(text, addition.first, addition.last, sign + written);
  if (node) return undefined;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${key}:\n  ${sign}${written}\n`;
}

function inBrackets(text: string, node: Node, { written, last }: Addition): string {
  const at = last ? endOf(text, last) : endOf(text, node) - 1;
  return `${text.slice(0, at)}${last ? `, ${written}` : written}${text.slice(at)}`;
}

function belowLast(text: string, first: Node, last: Node, line: string): string {
  const lineStart = text.lastIndexOf('\n', (first.range?.[0] ?? 0) - 1) + 1;
  const indent = /^ */.exec(text.slice(lineStart))?.[0] ?? '';
  const lineEnd = text.indexOf('\n', endOf(text, last));
  const at = lineEnd === -1 ? text.length : lineEnd;
  return `${text.slice(0, at)}\n${indent}${line}${text.slice(at)}`;
}
