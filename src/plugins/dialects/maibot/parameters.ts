import { isObject, type Json, type JsonObject } from '../../../contracts/json.ts';

/** The types of parameters; `FLOAT` is another name of `NUMBER`. */
export const ToolParamType = {
  STRING: 'string',
  INTEGER: 'integer',
  NUMBER: 'number',
  FLOAT: 'float',
  BOOLEAN: 'boolean',
  ARRAY: 'array',
  OBJECT: 'object',
} as const;
export type ToolParamType = (typeof ToolParamType)[keyof typeof ToolParamType];

export interface ToolParameterFields {
  name: string;
  paramType: ToolParamType;
  description?: string;
  /** Default true. */
  required?: boolean;
  enumValues?: Json[];
  /** Used where the model leaves the parameter out. null is a valid default. */
  default?: Json;
  /** JSON Schema of the elements of an `ARRAY`. */
  itemsSchema?: JsonObject;
  /** JSON Schemas of the fields of an `OBJECT`. */
  properties?: JsonObject;
  /** Fields that an `OBJECT` must have. */
  requiredProperties?: string[];
  /** Whether an `OBJECT` may have other fields, or their JSON Schema. */
  additionalProperties?: boolean | JsonObject;
}

/** One parameter of a tool. */
export class ToolParameterInfo {
  readonly fields: ToolParameterFields;

  constructor(fields: ToolParameterFields) {
    this.fields = fields;
  }
}

/**
 * The parameters of a tool: a list, a JSON Schema of an object, or JSON Schemas by name, in which `required: true` makes the parameter itself required.
 */
export type ToolParameters = (ToolParameterInfo | ToolParameterFields)[] | JsonObject;

/**
 * The JSON Schema of an object, which the model receives.
 * @throws an Error that names the parameter and what is wrong with it.
 */
export function schemaOf(parameters: ToolParameters = []): JsonObject {
  if (Array.isArray(parameters)) return schemaOfList(parameters.map((each) => (each instanceof ToolParameterInfo ? each.fields : each)));
  // A parameter of the name "type" is described by an object, never by a text.
  if (parameters['type'] === 'object') return parameters;
  const pairs = Object.entries(parameters).map(([name, given]) => {
    if (!isObject(given)) throw new Error(`parameter "${name}" is no JSON Schema`);
    // In a schema of draft 7 or later `required` is a list. In this form, true makes the single parameter required.
    const { required, ...schema } = given;
    return { name, schema: Array.isArray(required) ? given : schema, required: required === true };
  });
  return objectOf(pairs);
}

function schemaOfList(list: ToolParameterFields[]): JsonObject {
  const seen = new Set<string>();
  for (const { name } of list) {
    if (seen.has(name)) throw new Error(`two parameters have the name "${name}"`);
    seen.add(name);
  }
  return objectOf(list.map((fields) => ({ name: fields.name, schema: schemaOfOne(fields), required: fields.required ?? true })));
}

const KNOWN: string[] = Object.values(ToolParamType);

function schemaOfOne(fields: ToolParameterFields): JsonObject {
  const { name, paramType, description, enumValues = [], itemsSchema } = fields;
  if (!KNOWN.includes(paramType)) throw new Error(`parameter "${name}" has the type ${JSON.stringify(paramType)}; known are ${KNOWN.join(', ')}`);
  return {
    type: paramType === 'float' ? 'number' : paramType,
    ...(description !== undefined && { description }),
    ...(enumValues.length > 0 && { enum: enumValues }),
    ...(fields.default !== undefined && { default: fields.default }),
    ...(paramType === 'array' && itemsSchema !== undefined && { items: itemsSchema }),
    ...(paramType === 'object' && fieldsOf(fields)),
  };
}

function fieldsOf({ properties, requiredProperties = [], additionalProperties }: ToolParameterFields): JsonObject {
  return {
    ...(properties !== undefined && { properties }),
    ...(requiredProperties.length > 0 && { required: requiredProperties }),
    ...(additionalProperties !== undefined && { additionalProperties }),
  };
}

function objectOf(pairs: { name: string; schema: JsonObject; required: boolean }[]): JsonObject {
  const required = pairs.filter((pair) => pair.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(pairs.map(({ name, schema }) => [name, acceptDefault(schema)])),
    ...(required.length > 0 && { required }),
  };
}

/** A model may repeat a default of null, so the schema must accept null. */
function acceptDefault(schema: JsonObject): JsonObject {
  const { type, default: preset } = schema;
  if (preset !== null || typeof type !== 'string') return schema;
  return { ...schema, type: [type, 'null'], ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }) };
}

/** The arguments, with defaults for those that were left out. */
export function withArgumentDefaults(schema: JsonObject, input: JsonObject): JsonObject {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const presets = Object.entries(properties).flatMap(([name, { default: preset }]) => (preset === undefined ? [] : [[name, preset] as const]));
  return { ...Object.fromEntries(presets), ...input };
}

/** One line for each parameter that the model chooses, under a heading; an empty text where there are none. */
export function describeParameters(schema: JsonObject, hidden: string[]): string {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).filter(([name]) => !hidden.includes(name));
  if (properties.length === 0) return '';
  const lines = properties.map(([name, { type, description, enum: choices, default: preset }]) => {
    const parts = [
      `${name}: ${Array.isArray(type) ? type.map(textOf).join(' or ') : textOf(type ?? 'any')}, ${required.includes(name) ? 'required' : 'optional'}`,
      ...(typeof description === 'string' && description.trim() !== '' ? [description.trim().replace(/\.$/, '')] : []),
      ...(Array.isArray(choices) ? [`One of: ${choices.map(textOf).join(', ')}`] : []),
      ...(preset === undefined ? [] : [`Default: ${textOf(preset)}`]),
    ];
    return `- ${parts.join('. ')}`;
  });
  return `Parameter details:\n${lines.join('\n')}`;
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
