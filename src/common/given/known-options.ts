import { z } from 'zod';

/** The options of the object to which `path` leads in a schema; undefined where the schema does not say. */
export function knownOptions(schema: unknown, path: readonly PropertyKey[]): string[] | undefined {
  if (schema instanceof z.ZodPipe) return knownOptions(schema.in, path) ?? knownOptions(schema.out, path);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) return knownOptions(schema.unwrap(), path);
  if (schema instanceof z.ZodUnion) return onlyOne(schema.options.flatMap((part) => [knownOptions(part, path) ?? []].filter(({ length }) => length > 0)));
  const [key, ...rest] = path;
  return key === undefined ? optionsOf(schema) : knownOptions(partOf(schema, key), rest);
}

/** Of a union, no other part may have been meant. */
function onlyOne([first, ...others]: string[][]): string[] | undefined {
  return others.length === 0 ? first : undefined;
}

/** A schema that takes any key names none. */
function optionsOf(schema: unknown): string[] | undefined {
  return schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever ? Object.keys(schema.shape) : undefined;
}

function partOf(schema: unknown, key: PropertyKey): unknown {
  if (schema instanceof z.ZodObject) return schema.shape[String(key)];
  if (schema instanceof z.ZodArray) return schema.element;
  return schema instanceof z.ZodRecord ? schema.valueType : undefined;
}
