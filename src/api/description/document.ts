import type { Json } from '../../contracts/json.ts';

/** What we read and write of an OpenAPI document. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
  tags?: { name: string; description?: string }[];
}

export interface Operation {
  /** The route is a WebSocket. */
  'x-websocket'?: true;
  /** The methods of the route, which are described as one. */
  'x-methods'?: readonly string[];
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
  security?: Record<string, string[]>[];
}

export interface Answer {
  description: string;
  content?: Record<string, Media>;
}

export interface Media {
  schema?: Schema;
  example?: Json;
  examples?: Record<string, { value: Json }>;
}

/** A JSON Schema, as zod writes them. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  example?: Json;
  examples?: Json[];
  default?: Json;
  const?: Json;
  enum?: Json[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  prefixItems?: Schema[];
  minItems?: number;
  minimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
}

/** The schema itself, where another is named. */
export function resolved({ components }: Pick<Document, 'components'>, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return (name === undefined ? undefined : components.schemas[name]) ?? schema;
}
