import type { Json, JsonObject } from '../../contracts/json.ts';
import { dialectNamed } from '../../plugins/dialects/dialects.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import { MAX_VALUE_BYTES } from '../results/method-answer.ts';

/** Name that code calls to list the tools; no plugin can have this id. */
export const LIST_TOOLS = 'longshore:tools';

/**
 * Describes the tools for code: enough for functions with signatures, types and documentation. `bare` marks tools that the instructions call by their
 * name only; such a name means this tool even when another plugin has a tool of that name.
 */
export function describeTools(tools: RegisteredTool[], registry: Pick<Registry, 'plugin'>): Json {
  const bareOf = ({ pluginId }: RegisteredTool) => dialectNamed(registry.plugin(pluginId)?.dialect).hasBareNames && { bare: true };
  const whole = tools.map((tool): JsonObject => {
    const { id, description, parameters, kind, resultSchema: result } = tool;
    return { id, description, parameters, kind, ...(result && { result }), ...bareOf(tool) };
  });
  if (Buffer.byteLength(JSON.stringify(whole)) <= MAX_VALUE_BYTES) return whole;
  // The full description is too large. Without parameters, the functions accept any named argument.
  return tools.map((tool) => ({ id: tool.id, kind: tool.kind, ...bareOf(tool) }));
}
