import type { Agent } from '../../contracts/agent.ts';
import type { ClientTools } from '../../contracts/client-tool.ts';
import type { Store } from '../../store/store.ts';
import type { PluginConversation } from '../api/plugin.ts';
import { clientPlugin } from './client-plugin.ts';
import type { Registry } from './registry.ts';

interface Parts {
  registry: Registry;
  store: { transcript: Pick<Store['transcript'], 'clientTools'> };
}

/** The registry for one conversation: servers in its sandbox may report other tools than elsewhere, and its clients run tools. */
export async function registryInConversation(
  { registry, store }: Parts,
  agent: Pick<Agent, 'mcp' | 'clientTools' | 'clientToolsFromRequests'> | undefined,
  conversation: PluginConversation,
): Promise<Registry> {
  const known = Object.keys(agent?.mcp ?? {}).flatMap((name) => registry.plugin(name) ?? []);
  const own = await Promise.all(known.map(async (plugin) => plugin.inConversation?.(conversation)));
  const others = [...own, agent && clientPlugin(await toolsOfClients(store, agent, conversation))].filter((plugin) => plugin !== undefined);
  return others.length === 0 ? registry : registry.replacing(others);
}

/** Those of the agent's file come first, and count where a request has declared one of the same name before the file did. */
async function toolsOfClients(
  { transcript }: Parts['store'],
  { clientTools = {}, clientToolsFromRequests }: Pick<Agent, 'clientTools' | 'clientToolsFromRequests'>,
  { conversationId }: PluginConversation,
): Promise<ClientTools> {
  const requested = clientToolsFromRequests ? await transcript.clientTools(conversationId) : undefined;
  return { ...clientTools, ...requested, ...clientTools };
}
