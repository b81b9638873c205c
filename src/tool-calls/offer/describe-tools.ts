import type { Json, JsonObject } from '../../contracts/json.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import { MAX_VALUE_BYTES } from '../results/method-answer.ts';

/** What code asks for to learn which tools there are; no plugin can have this id. */
export const LIST_TOOLS = 'longshore:tools';

/**
 * The tools as code is told of them: enough for functions with signatures, types and documentation. `bare` are those that the instructions describe by
 * their own name, which so means them also where another plugin has a tool of that name.
 */
export function describeTools(tools: RegisteredTool[], registry: Pick<Registry, 'plugin'>): Json {
  const bareOf = ({ pluginId }: RegisteredTool) => registry.plugin(pluginId)?.dialect === 'nekro' && { bare: true };
  const whole = tools.map((tool): JsonObject => {
    const { id, description, parameters, kind, resultSchema: result } = tool;
    return { id, description, parameters, kind, ...(result && { result }), ...bareOf(tool) };
  });
  if (Buffer.byteLength(JSON.stringify(whole)) <= MAX_VALUE_BYTES) return whole;
  // Too many to be told in full: their functions take any named argument.
  return tools.map((tool) => ({ id: tool.id, kind: tool.kind, ...bareOf(tool) }));
}
