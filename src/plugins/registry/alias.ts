import { createHash } from 'node:crypto';

const LONGEST = 64;
const DIGEST_LENGTH = 8;
/** Models know the tool by this name. A generated name has `__` between plugin and tool, so it is never equal to it. */
const GIVEN = new Map([['tools:search', 'tool_search']]);

/**
 * The name of a tool for model providers: `shell:run` becomes `shell__run`, where the first `__` separates plugin and tool. If that is not possible (a scope,
 * a `.`, a `_` in the plugin's id, too long a name), the name ends with a digest of the full id. The registry maps names back to ids.
 */
export function aliasOf(pluginId: string, toolId: string): string {
  const given = GIVEN.get(`${pluginId}:${toolId}`);
  if (given !== undefined) return given;
  const plain = `${pluginId}__${toolId}`;
  if (plain.length <= LONGEST && !pluginId.includes('_') && !/[^\w-]/.test(plain)) return plain;
  const digest = createHash('sha256').update(`${pluginId}:${toolId}`).digest('hex').slice(0, DIGEST_LENGTH);
  const safe = plain.replace(/^@/, '').replaceAll(/[^\w-]/g, '_');
  return `${safe.slice(0, LONGEST - DIGEST_LENGTH - 1)}_${digest}`;
}
