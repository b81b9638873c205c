import type { McpLimits } from '../../../contracts/mcp/server.ts';

/** Time limit of the calls of a tool, by the server's own name for it. Milliseconds. */
export function limitOf({ timeoutMs, toolTimeoutsMs = {} }: McpLimits, tool: string): number {
  return (Object.hasOwn(toolTimeoutsMs, tool) ? toolTimeoutsMs[tool] : undefined) ?? timeoutMs;
}
