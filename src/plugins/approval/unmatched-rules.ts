import type { Agent } from '../../contracts/agent.ts';
import { CLIENT_PLUGIN } from '../../contracts/client-tool.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import type { RegisteredTool } from '../registry/registry.ts';

/**
 * Reports patterns of an agent's policy that match no tool or plugin. They are probably misspelt, and a misspelt rule denies nothing.
 * Patterns that may mean one of the agent's servers are not reported, because the tools of servers change, nor those for tools that requests declare.
 */
export function unmatchedRules(
  agent: Pick<Agent, 'approval' | 'requireApproval' | 'mcp' | 'clientToolsFromRequests'>,
  tools: Pick<RegisteredTool, 'id' | 'pluginId'>[],
): string[] {
  const changing = [...Object.keys(agent.mcp ?? {}), ...(agent.clientToolsFromRequests ? [CLIENT_PLUGIN] : [])];
  const mayChange = (pattern: string) => changing.some((name) => matchesPattern(pattern.split(':')[0] ?? '', name));
  const isTool = (pattern: string) => mayChange(pattern) || tools.some(({ id }) => matchesPattern(pattern, id));
  const isPlugin = (pattern: string) => mayChange(pattern) || tools.some(({ pluginId }) => matchesPattern(pattern, pluginId));
  const ofRules = agent.approval.flatMap(({ tool, plugin }, index) => [
    ...(tool === undefined || isTool(tool) ? [] : [`approval[${index}]: there is no tool ${tool}`]),
    ...(plugin === undefined || isPlugin(plugin) ? [] : [`approval[${index}]: there is no plugin ${plugin}`]),
  ]);
  const ofOverrides = Object.keys(agent.requireApproval).filter((pattern) => !isTool(pattern));
  return [...ofRules, ...ofOverrides.map((pattern) => `requireApproval: there is no tool ${pattern}`)];
}
