import type { Json, JsonObject } from '../../../contracts/json.ts';
import { parseForeign } from '../../../contracts/foreign-json.ts';
import { schemaOfType, type DocComment } from './doc-comment.ts';

/** Names and JSON Schema of a method's parameters after the context. */
export interface Signature {
  names: string[];
  parameters: JsonObject;
}

/** Words that cannot name a function or a parameter in Python. */
export const PYTHON_WORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);

/**
 * Reads a method's list of parameters from its source.
 * @throws an Error that says what cannot be read.
 */
export function readSignature(method: string, written: string, doc: DocComment): Signature {
  const [context, ...rest] = splitList(written);
  if (context === undefined) throw new Error(`the first parameter of "${method}" has to be the context; write async function ${method}(ctx, …)`);
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const parameter of rest) {
    const { name, schema, optional } = readParameter(method, parameter, doc);
    properties[name] = schema;
    if (!optional) required.push(name);
  }
  const parameters = { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
  return { names: Object.keys(properties), parameters };
}

/** The call of a method with types in Python's notation: `add(num1: int, num2: int = 1)`. */
export function headOf(method: string, { names, parameters }: Signature): string {
  const { properties = {}, required = [] } = parameters as { properties?: Record<string, JsonObject>; required?: string[] };
  const written = names.map((name) => {
    const schema = properties[name] ?? {};
    const hint = hintOf(schema);
    const typed = hint === '' ? name : `${name}: ${hint}`;
    if (required.includes(name)) return typed;
    const byDefault = schema['default'] === undefined ? 'None' : toPython(schema['default']);
    return `${typed}${hint === '' ? '=' : ' = '}${byDefault}`;
  });
  return `${method}(${written.join(', ')})`;
}

const HINTS: Record<string, string> = { string: 'str', integer: 'int', number: 'float', boolean: 'bool', object: 'dict', null: 'None' };

/** Empty where any value is accepted. */
function hintOf(schema: JsonObject): string {
  const { type, items, enum: choices, anyOf } = schema;
  if (Array.isArray(choices)) return choices.map(toPython).join(' | ');
  if (Array.isArray(anyOf)) {
    const hints = anyOf.map((part) => hintOf(part as JsonObject));
    return hints.includes('') ? '' : hints.join(' | ');
  }
  if (type !== 'array') return typeof type === 'string' ? (HINTS[type] ?? '') : '';
  const item = hintOf((items ?? {}) as JsonObject);
  return item === '' ? 'list' : `list[${item}]`;
}

function toPython(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${toPython(part)}`);
  return `{${entries.join(', ')}}`;
}

function readParameter(method: string, written: string, doc: DocComment): { name: string; schema: JsonObject; optional: boolean } {
  const { name, mark, type, byDefault } = splitParameter(written);
  refuseName(method, name, written);
  const told = doc.parameters.get(name);
  // The doc comment distinguishes whole numbers from others; TypeScript does not.
  const { schema, optional } = schemaOfType(told?.type ?? type);
  const value = byDefault === undefined ? undefined : literalOf(byDefault);
  const more = { ...(told?.description && { description: told.description }), ...(value !== undefined && { default: value }) };
  return { name, schema: { ...schema, ...more }, optional: optional || mark !== undefined || byDefault !== undefined };
}

/** Splits `name?: type = default`. For any other form the name is empty. */
function splitParameter(written: string): { name: string; mark: string | undefined; type: string | undefined; byDefault: string | undefined } {
  const [head, name = '', mark] = /^([\w$]+)(\?)?\s*(?=[:=]|$)/.exec(written) ?? [''];
  const rest = written.slice(head.length);
  const at = rest.indexOf('=');
  const type = rest.startsWith(':') ? rest.slice(1, at === -1 ? undefined : at).trim() : undefined;
  const byDefault = at === -1 ? undefined : rest.slice(at + 1).trim();
  return type === '' || byDefault === '' ? { name: '', mark, type, byDefault } : { name, mark, type, byDefault };
}

function refuseName(method: string, name: string, written: string): void {
  if (name === '') throw new Error(`"${method}" has the parameter ${written}; only plain names can be called from Python`);
  if (PYTHON_WORDS.has(name)) throw new Error(`"${method}" has the parameter ${name}, which is a word of Python; give it another name`);
}

/** The list of parameters in a function's own text. */
export function writtenParameters(text: string): string {
  const open = text.indexOf('(');
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if ('([{'.includes(text[at] ?? '')) depth += 1;
    if (')]}'.includes(text[at] ?? '') && --depth === 0) return text.slice(open + 1, at);
  }
  return '';
}

function splitList(written: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const character of written.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)|\/\/.*/g, '').replaceAll('=>', '')) {
    if ('([{<'.includes(character)) depth += 1;
    if (')]}>'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function literalOf(written: string): Json | undefined {
  try {
    return parseForeign(written.trim().replace(/^'([^'"\\]*)'$/, '"$1"'));
  } catch {
    return undefined;
  }
}
