import type { Json, JsonObject } from '../../../../contracts/json.ts';
import type { Parameter } from '../reader/method-source.ts';

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

/** @throws an Error that names a parameter that code could not pass. */
export function signatureOf(method: string, [context, ...rest]: Parameter[]): Signature {
  if (context === undefined) throw new Error(`the first parameter of "${method}" has to be the context; write async function ${method}(ctx, …)`);
  for (const { name, written } of rest) refuseName(method, name, written);
  const required = rest.filter(({ optional }) => !optional).map(({ name }) => name);
  const properties = Object.fromEntries(rest.map(({ name, schema }) => [name, schema]));
  const parameters = { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
  return { names: Object.keys(properties), parameters };
}

function refuseName(method: string, name: string, written: string): void {
  if (name === '') throw new Error(`"${method}" has the parameter ${written}; only plain names can be called from Python`);
  if (PYTHON_WORDS.has(name)) throw new Error(`"${method}" has the parameter ${name}, which is a word of Python; give it another name`);
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
