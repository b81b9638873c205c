import { createHash } from 'node:crypto';
import type { JsonObject } from '../contracts/json.ts';
import { stableJson } from '../stable-json.ts';
import type { RegisteredTool } from './registry.ts';

/** Hex SHA-256 of tool, plugin version and arguments. The order of keys does not count: Postgres gives them back in its own. */
export function hashCall(tool: Pick<RegisteredTool, 'id' | 'pluginVersion'>, input: JsonObject): string {
  return createHash('sha256')
    .update(stableJson([tool.id, tool.pluginVersion, input]))
    .digest('hex');
}
