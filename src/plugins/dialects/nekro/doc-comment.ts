import type { JsonObject } from '../../../contracts/json.ts';

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
const BY_TAG = /^@param\s+(?:\{([^}]*)\}\s+)?\[?([\w$]+)[^\s\]]*\]?\s*(?:-\s*)?(.*)$/;

/** Reads a comment in the style of Google or NumPy (Python), or of JSDoc. */
export function readDocComment(comment: string): DocComment {
  const lines = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split(/\r?\n|[\r\u2028\u2029]/)
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  const parameters = new Map([...parametersBySection(lines), ...parametersByTag(lines)]);
  return { text: lines.join('\n').trim(), parameters };
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
  let last: Described | undefined;
  for (const text of lines.map((line) => line.trim())) {
    const [tag, type, name, description = ''] = BY_TAG.exec(text) ?? [];
    if (tag !== undefined) parameters.set(name ?? '', (last = { type, description }));
    else if (text === '' || text.startsWith('@')) last = undefined;
    else if (last) last.description = `${last.description} ${text}`.trim();
  }
  return parameters;
}

const SIMPLE: Record<string, string> = {
  int: 'integer',
  integer: 'integer',
  float: 'number',
  number: 'number',
  str: 'string',
  string: 'string',
  bool: 'boolean',
  boolean: 'boolean',
  list: 'array',
  tuple: 'array',
  array: 'array',
  dict: 'object',
  object: 'object',
};

const LONGEST_TYPE = 1_000;

/** JSON Schema of a type in the notation of TypeScript or Python. An unknown or very long type accepts any value. */
export function schemaOfType(written: string | undefined): { schema: JsonObject; optional: boolean } {
  if (written !== undefined && written.length > LONGEST_TYPE) return { schema: {}, optional: false };
  const type = (written ?? '').trim().replace(/,\s*optional$/i, '');
  const wrapped = /^Optional\[(.*)\]$/s.exec(type)?.[1];
  if (wrapped !== undefined) return { schema: nullable(schemaOfType(wrapped).schema), optional: true };
  const parts = type.split('|').map((part) => part.trim());
  const real = parts.filter((part) => !/^(null|undefined|None)$/.test(part));
  const schema = real.length === 1 ? schemaOfOne(real[0] ?? '') : schemaOfChoices(real);
  return { schema: parts.includes('null') || parts.includes('None') ? nullable(schema) : schema, optional: /,\s*optional$/i.test(written ?? '') };
}

function schemaOfOne(type: string): JsonObject {
  const list = /^(?:Array|List|list)[<[](.*)[>\]]$/s.exec(type)?.[1] ?? /^(.*)\[\]$/s.exec(type)?.[1];
  if (list !== undefined) return { type: 'array', items: schemaOfType(list.replace(/^\((.*)\)$/s, '$1')).schema };
  const literals = /^Literal\[(.*)\]$/s.exec(type)?.[1];
  if (literals !== undefined) return schemaOfChoices(literals.split(',').map((part) => part.trim()));
  if (/^(Record<|Dict\[|dict\[|\{)/.test(type)) return { type: 'object' };
  const simple = SIMPLE[type.toLowerCase()];
  return simple === undefined ? {} : { type: simple };
}

function schemaOfChoices(choices: string[]): JsonObject {
  const texts = choices.map((choice) => /^(['"])(.*)\1$/.exec(choice)?.[2]);
  if (choices.length > 0 && texts.every((text) => text !== undefined)) return { enum: texts };
  return choices.length > 0 ? { anyOf: choices.map((choice) => schemaOfOne(choice)) } : {};
}

function nullable(schema: JsonObject): JsonObject {
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };
}
