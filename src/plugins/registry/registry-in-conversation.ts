import type { Agent } from '../../contracts/agent.ts';
import type { PluginConversation } from '../api/plugin.ts';
import { clientPlugin } from './client-plugin.ts';
import type { Registry } from './registry.ts';

/** The registry for one conversation: servers in its sandbox may report other tools than elsewhere, and its clients run tools. */
export async function registryInConversation(
  registry: Registry,
  agent: Pick<Agent, 'mcp' | 'clientTools'> | undefined,
  conversation: PluginConversation,
): Promise<Registry> {
  const known = Object.keys(agent?.mcp ?? {}).flatMap((name) => registry.plugin(name) ?? []);
  const own = await Promise.all(known.map(async (plugin) => plugin.inConversation?.(conversation)));
  const others = [...own, agent && clientPlugin(agent)].filter((plugin) => plugin !== undefined);
  return others.length === 0 ? registry : registry.replacing(others);
}
