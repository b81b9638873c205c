import type { CallModelArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { StoredEntry } from '../../contracts/transcript.ts';
import type { ModelRequest } from '../../models/model.ts';
import { availableTools, promptTexts } from '../../plugins/offer/available-tools.ts';
import type { Plugin } from '../../plugins/api/define-plugin.ts';
import type { PluginConversation } from '../../plugins/api/plugin.ts';
import { registryInConversation } from '../../plugins/registry/registry-in-conversation.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import { showTools } from '../../plugins/offer/show-tools.ts';
import type { Store } from '../../store/store.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { storeOf } from './plugin-store.ts';

/** The tools and texts that a step of a conversation may use. */
export interface Offer {
  agent: Agent;
  available: RegisteredTool[];
  /** Texts that plugins add to the instructions. */
  texts: string[];
}

type OfferParts = Pick<ActivityDependencies, 'registry' | 'log'> & { store: Pick<Store, 'pluginStore'> };

/**
 * @param recalls whether the conversation has the tool that reads what prompts leave out
 * @param saves whether it has the one that writes attachments into the sandbox
 */
export async function offerTools(
  parts: OfferParts,
  args: Pick<CallModelArgs, 'conversationId' | 'userId' | 'tenantId' | 'agentId' | 'unattended' | 'sandboxUse'>,
  agent: Agent,
  recalls: boolean,
  saves = false,
): Promise<Offer> {
  const { conversationId, userId, tenantId, agentId, unattended = false, sandboxUse } = args;
  const request = requestFor(parts, { conversationId, userId, tenantId, agentId });
  const available = await availableTools({ ...request, agent, unattended, sandboxUse, recalls, saves });
  const commands = parts.registry.forAgent(agent).filter(({ isCommand }) => isCommand);
  return { agent, available, texts: await promptTexts(request, [...available, ...commands]) };
}

/** The tools that a search may find: those that may be called in the conversation. */
export async function searchableTools(
  parts: OfferParts & Pick<ActivityDependencies, 'agents' | 'store'>,
  conversation: PluginConversation,
): Promise<RegisteredTool[]> {
  const agent = parts.agents.get(conversation.agentId);
  if (!agent) return [];
  const row = await parts.store.conversations.get(conversation.conversationId);
  const registry = await registryInConversation(parts, agent, conversation);
  const { unattended = false, parent } = row?.status ?? {};
  return availableTools({ ...requestFor({ ...parts, registry }, conversation), agent, unattended, sandboxUse: parent?.sandbox?.use });
}

function requestFor({ registry, log, store }: OfferParts, conversation: PluginConversation) {
  const onProblem = ({ id }: Pick<Plugin, 'id'>, error: unknown) =>
    log.warn({ plugin: id, conversationId: conversation.conversationId, err: error }, 'a plugin failed to say what it offers');
  return { registry, conversation, storeOf: ({ id }: Pick<Plugin, 'id'>) => storeOf(store, id, conversation), onProblem };
}

/** The instructions and tools in the form that the model gets. */
export function showOffer({ agent, available, texts }: Offer, registry: Registry, transcript: StoredEntry[]): Pick<ModelRequest, 'instructions' | 'tools'> {
  const { tools, briefs } = showTools({ registry, available, deferTools: agent.deferTools, transcript });
  const instructions = [agent.instructions, ...texts, briefs].filter((text) => text !== undefined && text.trim() !== '').join('\n\n');
  return { instructions, tools: tools.map(({ id, alias, description, parameters }) => ({ tool: id, name: alias, description, parameters })) };
}
