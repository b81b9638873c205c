import type { JsonObject } from '../../../contracts/json.ts';

/** What a method's doc comment says. */
export interface DocComment {
  /** The whole, without the stars. */
  text: string;
  /** By the parameter's name: what stands under `Args:`. */
  parameters: Map<string, { type: string | undefined; description: string }>;
}

const SECTION = /^(Args|Arguments|Parameters|Returns|Raises|Example|Examples):\s*$/;

/** Reads a comment with the sections `Args:`, `Returns:` and `Example:`. */
export function readDocComment(comment: string): DocComment {
  const lines = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  const text = lines.join('\n').trim();
  const parameters: DocComment['parameters'] = new Map();
  let section = '';
  let last: string | undefined;
  for (const line of lines) {
    const heading = SECTION.exec(line.trim())?.[1];
    if (heading) section = heading;
    if (heading || !/^(Args|Arguments|Parameters)$/.test(section)) continue;
    const [, name, type, description = ''] = /^\s*([\w$]+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$/.exec(line) ?? [];
    const known = last === undefined ? undefined : parameters.get(last);
    if (name !== undefined) {
      parameters.set(name, { type, description });
      last = name;
    } else if (known && line.trim() !== '') known.description += ` ${line.trim()}`;
  }
  return { text, parameters };
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

/** JSON Schema of a type as TypeScript or Python writes it; what is not known may be anything. */
export function schemaOfType(written: string | undefined): { schema: JsonObject; optional: boolean } {
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
