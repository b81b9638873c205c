import { createHash } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.ts';
import { stableJson } from '../../common/stable-json.ts';
import { asKept } from '../../store/database/json-text.ts';
import type { RegisteredTool } from './registry.ts';

/** Hex SHA-256 of tool, plugin version and arguments. Does not depend on the order of keys, and is the same for arguments that were read from Postgres. */
export function hashCall(tool: Pick<RegisteredTool, 'id' | 'pluginVersion'>, input: JsonObject): string {
  return createHash('sha256')
    .update(asKept(stableJson([tool.id, tool.pluginVersion, input])))
    .digest('hex');
}
