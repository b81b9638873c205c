import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { RegisteredTool } from './registry.ts';

/** Hex SHA-256 of tool, plugin version and arguments. The order of keys does not count: Postgres gives them back in its own. */
export function hashCall(tool: Pick<RegisteredTool, 'id' | 'pluginVersion'>, input: JsonObject): string {
  return createHash('sha256')
    .update(stableJson([tool.id, tool.pluginVersion, input]))
    .digest('hex');
}

function stableJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.keys(value).toSorted();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${stableJson(value[key] ?? null)}`).join(',')}}`;
}
