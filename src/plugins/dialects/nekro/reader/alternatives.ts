import type { JsonObject } from '../../../../contracts/json.ts';

/** One part of a union type. */
export type Alternative = { schema: JsonObject } | { value: string | number | boolean } | 'null' | 'undefined';

/** JSON Schema of a union of types. One that accepts any value makes the whole accept any. */
export function schemaOfAlternatives(parts: Alternative[]): JsonObject {
  const values = parts.flatMap((part) => (typeof part === 'object' && 'value' in part ? [part.value] : []));
  const schemas = [
    ...parts.flatMap((part) => (typeof part === 'object' && 'schema' in part ? [part.schema] : [])),
    ...(values.length > 0 ? [{ enum: values }] : []),
    ...(parts.includes('null') ? [{ type: 'null' }] : []),
  ];
  if (schemas.some((schema) => Object.keys(schema).length === 0)) return {};
  return schemas.length > 1 ? { anyOf: schemas } : (schemas[0] ?? {});
}
