import { resolve } from 'node:path';
import type { Agent } from '../../../contracts/agent.ts';
import { failure } from '../../../contracts/errors.ts';
import { loadAgents } from '../../../definitions/agents/load-agents.ts';
import { readAgentFiles, type AgentFile } from '../../../definitions/edit/agent-files.ts';
import { BUILTIN_IDS } from '../../../plugins/builtin/builtin-plugins.ts';
import type { Cli } from '../../output/cli.ts';
import type { PluginLoading } from '../check/plugin-loading.ts';

/** The agents of this machine, and the files of those that are written in YAML. */
export interface AgentEntries {
  directory: string;
  agents: ReadonlyMap<string, Agent>;
  files: AgentFile[];
}

/** @param wanted agents whose files are to be changed. @throws AGENT_NOT_FOUND, and INVALID_ARGUMENT for an agent whose file is a program */
export async function readEntries(cli: Cli, wanted: string[]): Promise<AgentEntries> {
  const { LONGSHORE_AGENTS, LONGSHORE_TEMPLATES: templates } = cli.config();
  const directory = resolve(LONGSHORE_AGENTS);
  const agents = await loadAgents(directory, templates, 'leave');
  const files = await readAgentFiles(directory);
  for (const agent of wanted) {
    if (!agents.has(agent)) throw failure('AGENT_NOT_FOUND', { agent, known: [...agents.keys()].toSorted().join(', ') || 'none', directory });
    if (files.some(({ id }) => id === agent)) continue;
    const problem = `the file of "${agent}" is a program, which is not changed`;
    throw failure('INVALID_ARGUMENT', { what: '--agent', problem, fix: 'Leave it out, and write the entry that is printed into that file' });
  }
  return { directory, agents, files };
}

/**
 * Refuses an id that a built-in plugin or a plugin of an agent has: it could take its place in the rules of agents.
 * @param place the place of the plugin itself. @throws PLUGIN_COLLISION
 */
export async function refuseTaken(
  loading: PluginLoading,
  { agents, directory }: AgentEntries,
  added: { id: string; as: string; place?: string },
): Promise<void> {
  const { id, as, place } = added;
  const collision = (first: string) => failure('PLUGIN_COLLISION', { id, first, second: as });
  if (BUILTIN_IDS.includes(id)) throw collision('a built-in plugin');
  const names = new Set([...agents.values()].flatMap(({ plugins }) => plugins));
  for (const name of names) {
    if (name === place) continue;
    // One that cannot be loaded has no id, and is told by its worker.
    const other = await loading.load(name, directory).catch(() => undefined);
    if (other?.plugins.some((plugin) => plugin.id === id)) throw collision(name);
  }
}
