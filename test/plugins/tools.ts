import { defineTool, type Tool, type ToolDefinition } from '../../src/plugins/api/define-plugin.ts';
import type { JsonObject } from '../../src/contracts/json.ts';

/** A host tool that gives back its arguments. */
export function echoTool(id: string, changes: Partial<ToolDefinition<JsonObject>> = {}): Tool {
  return defineTool({ id, description: `Echoes, as ${id}.`, parameters: { type: 'object' }, execute: async (input) => input, ...changes });
}
