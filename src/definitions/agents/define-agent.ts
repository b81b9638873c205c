import type { Agent } from '../../contracts/agent.ts';
import type { AgentDefinition } from './agent-schema.ts';
import { readDefined } from '../parse/read-defined.ts';
import { parseAgent } from './parse-agent.ts';

export type { AgentDefinition };

/**
 * Creates an agent in TypeScript, with the keys of an agent file. Relative plugins and scripts are looked for in `directory`, the working directory by default.
 * @throws AGENT_INVALID naming path, value and fix.
 */
export function defineAgent(definition: AgentDefinition, options: { directory?: string } = {}): Agent {
  const { written, file, directory } = readDefined(definition, options, { code: 'AGENT_INVALID', kind: 'agent', idKey: 'id' });
  return parseAgent(written, { code: 'AGENT_INVALID', file, directory, written, locate: () => file });
}
