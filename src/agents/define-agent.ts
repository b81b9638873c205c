import type { Agent } from '../contracts/agent.ts';
import type { AgentDefinition } from './agent-schema.ts';
import { parseAgent } from './parse-agent.ts';

export type { AgentDefinition };

/**
 * Makes an agent in TypeScript, with the keys of an agent file. Relative plugins and scripts are looked for in `directory`, the working directory by default.
 * @throws AGENT_INVALID naming path, value and fix.
 */
export function defineAgent(definition: AgentDefinition, { directory = process.cwd() }: { directory?: string } = {}): Agent {
  const file = `agent "${definition.id}"`;
  return parseAgent(definition, { code: 'AGENT_INVALID', file, directory, written: definition, locate: () => file });
}
