import { readdir } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import type { Agent } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { loadTemplates } from '../templates/load-templates.ts';
import type { Treatment } from '../../common/fill-in-environment.ts';
import { parseAgent } from './parse-agent.ts';
import { isDefinition, YAML_FILE } from '../parse/definition-files.ts';
import { importDefinition } from '../parse/import-definition.ts';
import { parsedUnless, readDefinition, type Unset } from '../parse/read-definition.ts';
import { treatCredentials } from '../parse/treat-credentials.ts';
import { loadSkills } from '../skills/load-skills.ts';
import { checkSubAgents } from './check-sub-agents.ts';
import { withTemplate } from './with-template.ts';

/**
 * Reads all agent files of a directory: YAML, and modules with a `defineAgent` as their default export. Subdirectories are not read, nor files with a dot before their names.
 * A template provides the sandbox options that the agent does not set.
 * @throws AGENT_INVALID, TEMPLATE_INVALID naming file, line, path and fix; SKILL_INVALID; CONFIG_INVALID when the directory cannot be read.
 */
export async function loadAgents(directory: string, templates: string = templatesBeside(directory), unset: Unset = 'refuse'): Promise<Map<string, Agent>> {
  const known = await loadTemplates(templates, unset);
  const agents = new Map<string, Agent>();
  const files = new Map<string, string>();
  for (const name of await agentFiles(directory)) {
    const path = resolve(directory, name);
    const agent = await (YAML_FILE.test(name) ? loadAgent(path, unset) : importAgent(path));
    const first = files.get(agent.id);
    if (first !== undefined) {
      throw failure('AGENT_INVALID', { file: name, path: 'id', problem: `"${agent.id}" is also the id of ${first}`, fix: 'Give one of them another id' });
    }
    files.set(agent.id, name);
    agents.set(agent.id, withTemplate(agent, { known, directory: templates, file: name }));
  }
  for (const [id, agent] of agents) checkSubAgents(agent, agents, files.get(id) ?? '');
  // Clients need no skills, and may not have their files.
  if (unset === 'refuse') await loadSkills(agents.values());
  return agents;
}

/** The default directory of templates. */
export function templatesBeside(agents: string): string {
  return resolve(agents, '../templates');
}

async function importAgent(path: string): Promise<Agent> {
  const agent = await importDefinition<Agent>(path, 'AGENT_INVALID');
  const { id, model, tools, budget, approvalTimeoutMs } = agent;
  // No definition has the last one: it is the result of `defineAgent`, which has checked all of it and added the limits.
  if (id && model && tools && budget && approvalTimeoutMs !== undefined) return agent as Agent;
  const problem = 'has no agent as its default export';
  throw failure('AGENT_INVALID', { file: basename(path), path: '(the whole file)', problem, fix: 'Write: export default defineAgent({ … })' });
}

async function loadAgent(path: string, unset: Unset): Promise<Agent> {
  // Secrets of MCP servers are filled in at each connection, so that no agent contains them.
  const treat = ([root, ...below]: PropertyKey[]): Treatment => (root === 'mcp' ? 'leave' : root === 'sandbox' ? treatCredentials(below) : 'fill');
  const { filled, source, missing } = await readDefinition(path, 'AGENT_INVALID', treat, unset);
  return parsedUnless(missing, () => parseAgent(withId(filled, basename(path, extname(path))), source));
}

async function agentFiles(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory);
    return names.filter(isDefinition).toSorted();
  } catch (error) {
    const problem = `the directory of agents cannot be read (${(error as Error).message})`;
    throw failure('CONFIG_INVALID', { name: 'LONGSHORE_AGENTS', problem, fix: 'Make it, or name another' }, error);
  }
}

function withId(definition: unknown, id: string): unknown {
  if (definition === null || typeof definition !== 'object' || Array.isArray(definition)) return definition;
  return { id, ...definition };
}
