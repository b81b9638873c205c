import type { Agent } from '../../contracts/agent.ts';
import { isShared } from '../../contracts/sub-agents/sandbox-use.ts';

/** Names of the MCP servers that may run in the sandbox of an agent: its own, and those of the sub-agents that share it. */
export function serversIn(agents: ReadonlyMap<string, Pick<Agent, 'mcp' | 'agents'>>, agentId: string): string[] {
  const sharing = new Set([agentId]);
  // A set is visited in the order of insertion, with what is added meanwhile.
  for (const id of sharing) for (const { agent, sandbox } of Object.values(agents.get(id)?.agents ?? {})) if (isShared(sandbox)) sharing.add(agent);
  return [...new Set([...sharing].flatMap((id) => Object.keys(agents.get(id)?.mcp ?? {})))];
}
