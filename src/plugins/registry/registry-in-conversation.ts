import type { Agent } from '../../contracts/agent.ts';
import type { PluginConversation } from '../api/plugin-details.ts';
import type { Registry } from './registry.ts';

/** The registry as it is for one conversation: servers in its sandbox may have told it of other tools than they have elsewhere. */
export async function registryInConversation(registry: Registry, agent: Pick<Agent, 'mcp'> | undefined, conversation: PluginConversation): Promise<Registry> {
  const known = Object.keys(agent?.mcp ?? {}).flatMap((name) => registry.plugin(name) ?? []);
  const own = await Promise.all(known.map(async (plugin) => plugin.inConversation?.(conversation)));
  const others = own.filter((plugin) => plugin !== undefined);
  return others.length === 0 ? registry : registry.replacing(others);
}
