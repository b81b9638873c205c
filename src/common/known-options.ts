import { z } from 'zod';

/** The options of the object to which `path` leads in a schema; undefined where the schema does not say. */
export function knownOptions(schema: unknown, path: readonly PropertyKey[]): string[] | undefined {
  if (schema instanceof z.ZodPipe) return knownOptions(schema.in, path) ?? knownOptions(schema.out, path);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) return knownOptions(schema.unwrap(), path);
  const [key, ...rest] = path;
  if (schema instanceof z.ZodObject && key === undefined) return schema.def.catchall instanceof z.ZodNever ? Object.keys(schema.shape) : undefined;
  if (schema instanceof z.ZodObject) return knownOptions(schema.shape[String(key)], rest);
  if (key === undefined) return undefined;
  if (schema instanceof z.ZodArray) return knownOptions(schema.element, rest);
  return schema instanceof z.ZodRecord ? knownOptions(schema.valueType, rest) : undefined;
}
