import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import type { ToolContext } from './tool-context.ts';

type Identity = Pick<ToolContext, 'conversationId' | 'userId' | 'tenantId'>;

/**
 * Arguments that say for which user, conversation or tenant a tool works. A model that could choose them could act for another user. So the model does not
 * see them, values that it sends for them are dropped, and the host fills in those that a tool declares. A conversation has one user and is not a group, so
 * `group_id` is empty.
 */
const FIELDS = new Map<string, (identity: Identity) => string>([
  ...named(['conversation_id', 'stream_id', 'chat_id', 'chat_key'], ({ conversationId }) => conversationId),
  ...named(['user_id'], ({ userId }) => userId),
  ...named(['tenant_id'], ({ tenantId }) => tenantId),
  ...named(['group_id'], () => ''),
  ...named(['platform'], () => 'longshore'),
]);

/** The identity fields that a schema declares. */
export function identityFieldsOf(parameters: JsonObject): string[] {
  return Object.keys((parameters['properties'] ?? {}) as JsonObject).filter((name) => FIELDS.has(name));
}

/** The identity fields that a call could contain although the schema does not name them, because the schema accepts any property. */
export function unnamedFieldsOf({ properties = {}, additionalProperties = true }: JsonObject): string[] {
  return isAnything(additionalProperties) ? [...FIELDS.keys()].filter((name) => !Object.hasOwn(properties as JsonObject, name)) : [];
}

/** Words of JSON Schema that allow and refuse nothing. */
const SAYS_NOTHING = new Set(['title', 'description', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly']);

/** A schema without conditions is the same as `true`; zod writes `{}` for the further fields of a loose object. */
function isAnything(schema: Json): boolean {
  return schema === true || (isObject(schema) && Object.keys(schema).every((word) => SAYS_NOTHING.has(word)));
}

/** The schema that a model is shown and that its arguments are checked against. */
export function withoutFields(parameters: JsonObject, fields: string[]): JsonObject {
  if (fields.length === 0) return parameters;
  const { properties, required, ...rest } = parameters;
  const left = Array.isArray(required) ? required.filter((name) => typeof name === 'string' && !fields.includes(name)) : [];
  return { ...rest, properties: withoutKeys(properties as JsonObject, fields), ...(left.length > 0 && { required: left }) };
}

export function withoutKeys(input: JsonObject, names: string[]): JsonObject {
  return names.length === 0 ? input : Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));
}

/** The values that the host fills in. */
export function identityOf(fields: string[], identity: Identity): JsonObject {
  return Object.fromEntries(fields.map((name) => [name, FIELDS.get(name)?.(identity) ?? '']));
}

/** Each name also in camel case. */
function named(names: string[], value: (identity: Identity) => string): [string, (identity: Identity) => string][] {
  return names.flatMap((name) => [name, name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())]).map((name) => [name, value]);
}
