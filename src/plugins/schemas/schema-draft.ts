import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';

/** The drafts of JSON Schema that are distinguished. */
export type SchemaDraft = 'draft-04' | 'draft-06' | 'draft-07' | '2019-09' | '2020-12';

const NAMED = /draft-0?(4|6|7)\b|\b(2019-09|2020-12)\b/;

/**
 * The draft of a schema: the one that its `$schema` names, else 2020-12. A list as `items` has a meaning only in older drafts, so a schema that has one and no
 * `$schema` is read as draft 7.
 */
export function schemaDraftOf(schema: JsonObject, hasTuples: boolean): SchemaDraft {
  const { $schema } = schema;
  const [, old, recent] = (typeof $schema === 'string' && NAMED.exec($schema.slice(0, 200))) || [];
  if (recent !== undefined) return recent as SchemaDraft;
  if (old !== undefined) return `draft-0${old}` as SchemaDraft;
  return hasTuples && $schema === undefined ? 'draft-07' : '2020-12';
}

export function isTuple(schema: Json): boolean {
  return isObject(schema) && Array.isArray(schema['items']);
}
