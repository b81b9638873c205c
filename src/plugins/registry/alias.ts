import { createHash } from 'node:crypto';

const LONGEST = 64;
const DIGEST_LENGTH = 8;
/** Models know it by this name; no made-up one has a single `_` between plugin and tool. */
const GIVEN = new Map([['tools:search', 'tool_search']]);

/**
 * The name under which a provider is shown a tool: `shell:run` becomes `shell__run`, whose first `__` parts plugin and tool. What would not survive (a scope,
 * a `.`, a plugin with a `_`, too long a name) gets a digest of the full id as its tail. The registry keeps the way back.
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
