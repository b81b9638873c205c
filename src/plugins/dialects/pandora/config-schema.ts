import type { JsonObject } from '../../../contracts/json.ts';
import type { ConfigField } from './manifest.ts';

/** The JSON Schema of a plugin's configuration: its fields, and whether its tools ask for approval, by their ids. */
export function configSchemaOf(fields: ConfigField[]): JsonObject {
  const properties = Object.fromEntries(fields.map((field) => [field.key, schemaOf(field)]));
  const requireApproval = { type: 'object', description: 'By tool: whether its calls ask for approval', additionalProperties: { type: 'boolean' } };
  return {
    type: 'object',
    properties: { ...properties, requireApproval },
    required: fields.filter(({ required }) => required).map(({ key }) => key),
    additionalProperties: false,
  };
}

function schemaOf({ type, label, description, options = [], required, placeholder }: ConfigField): JsonObject {
  const about = { title: label, ...(description !== undefined && { description }), ...(placeholder !== undefined && { examples: [placeholder] }) };
  if (type === 'number') return { type: 'number', ...about };
  if (type === 'enum') return { type: 'string', ...about, enum: [...new Set(options.map(({ value }) => value))] };
  return { type: 'string', ...about, ...(required && { minLength: 1 }), ...(type === 'password' && { 'x-secret': true }) };
}
