import { createHash } from 'node:crypto';
import type { JsonObject } from '../contracts/json.ts';
import { stableJson } from '../stable-json.ts';
import { toJsonText } from '../store/json-text.ts';
import type { RegisteredTool } from './registry.ts';

/** Hex SHA-256 of tool, plugin version and arguments, as Postgres gives them back: the order of keys does not count, nor does what it cannot store. */
export function hashCall(tool: Pick<RegisteredTool, 'id' | 'pluginVersion'>, input: JsonObject): string {
  return createHash('sha256')
    .update(stableJson([tool.id, tool.pluginVersion, JSON.parse(toJsonText(input)) as JsonObject]))
    .digest('hex');
}
