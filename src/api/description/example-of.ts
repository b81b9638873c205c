import type { Json, JsonObject } from '../../contracts/json.ts';
import { resolved, type Document, type Schema } from './document.ts';

/** Examples of fields whose schema has none, by their names. */
export const EXAMPLES: Record<string, Json> = {
  id: 'tides',
  conversationId: 'conv_01kq0p0g7fm3c8w2y5t9x1',
  turnId: 'turn_01kq0p0g7fm3c8w2y5t9x2',
  messageId: 'msg_01kq0p0g7fm3c8w2y5t9x3',
  callId: 'call_01kq0p0g7fm3c8w2y5t9x4',
  scheduleId: 'daily-report',
  keyId: '8WqkPzT3vXy1',
  agent: 'captain',
  agentId: 'captain',
  user: 'user-1',
  userId: 'user-1',
  tenant: 'acme',
  tenantId: 'acme',
  plugin: 'tides',
  tool: 'tides:at',
  model: 'anthropic/claude-sonnet-4-5',
  message: 'What is the tide at noon?',
  reply: 'It is high at 12:04.',
  hash: 'b94d27b9934d3e08',
  why: 'the rule of the agent asks for every call of this tool',
  name: 'billing',
  text: 'lsk_8WqkPzT3vXy1_…',
  at: '2027-01-31T09:00:00.000Z',
  createdAt: '2027-01-31T09:00:00.000Z',
  updatedAt: '2027-01-31T09:00:02.000Z',
  from: '2027-01-01T00:00:00.000Z',
  to: '2027-02-01T00:00:00.000Z',
  type: 'turn.finished',
};
/** Schemas that contain themselves end here. */
const DEEPEST = 30;

/** A value that fits the schema: what it must have, and of the rest the fields that have an example of their own. */
export function exampleOf(document: Pick<Document, 'components'>, schema: Schema, name = '', depth = 0): Json {
  const own = ownExample(schema);
  if (own !== undefined) return own;
  if (depth > DEEPEST) return {};
  const { $ref, anyOf, oneOf, allOf } = schema;
  const inner = (one: Schema) => exampleOf(document, one, name, depth + 1);
  if ($ref !== undefined) {
    const target = resolved(document, schema);
    return target === schema ? {} : inner(target);
  }
  const [first] = anyOf ?? oneOf ?? [];
  if (first) return inner(first);
  if (allOf) return Object.assign({}, ...allOf.map(inner)) as JsonObject;
  return ofType(document, schema, name, depth);
}

function ownExample({ example, examples, const: only, default: usual, enum: [first] = [] }: Schema): Json | undefined {
  return example ?? examples?.[0] ?? only ?? usual ?? first;
}

function ofType(document: Pick<Document, 'components'>, schema: Schema, name: string, depth: number): Json {
  const { type, items, prefixItems, minimum } = schema;
  const [kind] = [type ?? 'object'].flat();
  const known = EXAMPLES[name];
  if (kind === 'string') return typeof known === 'string' ? known : 'text';
  if (kind === 'integer' || kind === 'number') return Math.max(minimum ?? 1, 1);
  if (kind === 'boolean') return true;
  if (kind === 'null') return null;
  if (kind === 'array') return (prefixItems ?? (items ? [items] : [])).map((item) => exampleOf(document, item, name.replace(/s$/, ''), depth + 1));
  return ofObject(document, schema, depth);
}

function ofObject(document: Pick<Document, 'components'>, { properties = {}, required = [] }: Schema, depth: number): JsonObject {
  const shown = Object.entries(properties).filter(([name, schema]) => required.includes(name) || ownExample(schema) !== undefined);
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(document, schema, name, depth + 1)]));
}
