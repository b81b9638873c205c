import type { Json, JsonObject } from '../../../contracts/json.ts';
import { schemaOfType, type DocComment } from './doc-comment.ts';

/** Names and JSON Schema of what a method takes after its context. */
export interface Signature {
  names: string[];
  parameters: JsonObject;
}

/**
 * Reads a method's list of parameters, as its source has it.
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

function readParameter(method: string, written: string, doc: DocComment): { name: string; schema: JsonObject; optional: boolean } {
  const [, name = '', mark, type, byDefault] = /^([\w$]+)(\?)?\s*(?::\s*([^=]+?))?\s*(?:=\s*([\s\S]+))?$/.exec(written) ?? [];
  if (name === '') throw new Error(`"${method}" has the parameter ${written}; only plain names can be called from Python`);
  const told = doc.parameters.get(name);
  // The comment tells whole numbers from others, which TypeScript does not.
  const { schema, optional } = schemaOfType(told?.type ?? type);
  const value = byDefault === undefined ? undefined : literalOf(byDefault);
  const more = { ...(told?.description && { description: told.description }), ...(value !== undefined && { default: value }) };
  return { name, schema: { ...schema, ...more }, optional: optional || mark !== undefined || byDefault !== undefined };
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
  for (const character of written.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').replaceAll('=>', '')) {
    if ('([{<'.includes(character)) depth += 1;
    if (')]}>'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function literalOf(written: string): Json | undefined {
  try {
    return JSON.parse(written.trim().replace(/^'([^'"\\]*)'$/, '"$1"')) as Json;
  } catch {
    return undefined;
  }
}
