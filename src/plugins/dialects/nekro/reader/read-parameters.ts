import type { Function as FunctionNode, Node } from '@babel/types';
import type { Json, JsonObject } from '../../../../contracts/json.ts';
import type { Parameter } from './method-source.ts';
import type { DocComment } from './doc-comment.ts';
import { nameOfKey, rangeOf, textOfTemplate, type ParsedSource } from './parse-source.ts';
import { schemaOfAnnotation } from './schema-of-annotation.ts';
import { schemaOfWrittenType } from './written-type.ts';

/** The parameters of a function, with the types and descriptions of its source and its comment. */
export function readParameters(source: ParsedSource, fn: FunctionNode, doc: DocComment | undefined): Parameter[] {
  // TypeScript's `this` is a type and no parameter.
  const params = fn.params.filter((node) => node.type !== 'Identifier' || node.name !== 'this');
  return params.map((node) => {
    const { start, end } = rangeOf(node);
    const [target, byDefault] = node.type === 'AssignmentPattern' ? [node.left, node.right] : [node, undefined];
    if (target.type !== 'Identifier' || !/^[\w$]+$/.test(target.name)) return { written: source.text.slice(start, end), name: '', optional: false, schema: {} };
    const told = doc?.parameters.get(target.name);
    const { schema, optional } = typeOf(source, target.typeAnnotation, told?.type);
    const value = byDefault && literalOf(byDefault);
    const more = { ...(told?.description && { description: told.description }), ...(value !== undefined && { default: value }) };
    return {
      written: source.text.slice(start, end),
      name: target.name,
      optional: optional || target.optional === true || byDefault !== undefined,
      schema: { ...schema, ...more },
    };
  });
}

/** The comment distinguishes whole numbers from others, and TypeScript does not. */
function typeOf(source: ParsedSource, annotation: Node | null | undefined, written: string | undefined): { schema: JsonObject; optional: boolean } {
  const told = schemaOfWrittenType(written ?? '');
  if (Object.keys(told.schema).length > 0 || annotation?.type !== 'TSTypeAnnotation') return told;
  return { schema: schemaOfAnnotation(annotation.typeAnnotation, source), optional: told.optional };
}

/** The value of an expression that is JSON. Undefined for any other. */
function literalOf(node: Node): Json | undefined {
  if (node.type === 'StringLiteral' || node.type === 'NumericLiteral' || node.type === 'BooleanLiteral') return node.value;
  if (node.type === 'NullLiteral') return null;
  if (node.type === 'ArrayExpression') return listOf(node.elements);
  if (node.type === 'ObjectExpression') return objectOf(node.properties);
  if (node.type === 'TSAsExpression' || node.type === 'TSSatisfiesExpression') return literalOf(node.expression);
  return textOfTemplate(node) ?? negativeOf(node);
}

function negativeOf(node: Node): number | undefined {
  if (node.type !== 'UnaryExpression' || node.operator !== '-' || node.argument.type !== 'NumericLiteral') return undefined;
  return -node.argument.value;
}

function listOf(elements: (Node | null)[]): Json[] | undefined {
  const values = elements.map((element) => (element ? literalOf(element) : undefined));
  return values.every((value) => value !== undefined) ? values : undefined;
}

function objectOf(properties: Node[]): JsonObject | undefined {
  const entries = properties.map((property): [string, Json] | undefined => {
    if (property.type !== 'ObjectProperty') return undefined;
    const name = nameOfKey(property.key, property.computed);
    const value = literalOf(property.value);
    // In the source that is written, `__proto__` would set a prototype.
    return name === undefined || name === '__proto__' || value === undefined ? undefined : [name, value];
  });
  return entries.every((entry) => entry !== undefined) ? Object.fromEntries(entries) : undefined;
}
