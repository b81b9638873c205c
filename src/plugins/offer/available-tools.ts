import { inTime } from '../../common/in-time.ts';
import type { Agent } from '../../contracts/agent.ts';
import { decide } from '../approval/decide.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { PluginConversation } from '../api/plugin-details.ts';
import type { PluginStore } from '../api/tool-context.ts';
import type { RegisteredTool, Registry } from '../registry/registry.ts';
import { SEARCH_TOOL } from '../builtin/tools.ts';

const HOOK_TIMEOUT_MS = 2000;

interface Request {
  registry: Registry;
  agent: Agent;
  conversation: PluginConversation;
  /** What a plugin keeps for the conversation; without it, its hooks have no store. */
  storeOf?: (plugin: Plugin) => PluginStore;
  /** Nobody is there to approve anything. */
  unattended: boolean;
  /** Told of a plugin that failed to answer. */
  onProblem: (plugin: Plugin, error: unknown) => void;
}

/**
 * The tools that may be called in a conversation: those of the agent, less what their plugins leave out of it, and without anybody to ask only those that
 * read and need no approval. A plugin that fails to say what it offers offers nothing.
 */
export async function availableTools({ registry, agent, conversation, storeOf, unattended, onProblem }: Request): Promise<RegisteredTool[]> {
  const given = registry.forAgent(agent).filter((tool) => !unattended || runsUnattended(agent, tool));
  const search = registry.get(SEARCH_TOOL);
  const tools = search && !given.includes(search) ? [...given, search] : given;
  const choices = await Promise.all(
    pluginsOf(registry, tools).map(async (plugin) => {
      if (!plugin.selectTools) return undefined;
      const chosen = await askPlugin(plugin, () => plugin.selectTools?.({ ...conversation, ...(storeOf && { store: storeOf(plugin) }) }), onProblem);
      return [plugin.id, chosen === FAILED ? [] : chosen] as const;
    }),
  );
  const chosen = new Map(choices.filter((choice) => choice !== undefined));
  return tools.filter(({ id, pluginId }) => chosen.get(pluginId)?.includes(id.slice(pluginId.length + 1)) ?? true);
}

/** What the plugins of these tools add to the instructions, in the order of their ids. */
export async function promptTexts(
  { registry, conversation, storeOf, onProblem }: Omit<Request, 'agent' | 'unattended'>,
  tools: RegisteredTool[],
): Promise<string[]> {
  const texts = await Promise.all(
    pluginsOf(registry, tools).map((plugin) =>
      askPlugin(plugin, () => plugin.promptText?.({ ...conversation, ...(storeOf && { store: storeOf(plugin) }) }), onProblem),
    ),
  );
  return texts.filter((text): text is string => typeof text === 'string' && text.trim() !== '');
}

/** Conditions on arguments are left to the call: what they leave open is offered. */
function runsUnattended(agent: Agent, tool: RegisteredTool): boolean {
  const approval = agent.approval.filter(({ when }) => when === undefined);
  return tool.annotations.readOnlyHint === true && decide({ ...agent, approval }, tool, {}).decision === 'allow';
}

function pluginsOf(registry: Registry, tools: RegisteredTool[]): Plugin[] {
  return [...new Set(tools.map(({ pluginId }) => pluginId))].flatMap((id) => registry.plugin(id) ?? []);
}

const FAILED = Symbol('failed');

/** A hook is a plugin's code: what it throws, and its taking for ever, must not hold up a step. */
async function askPlugin<Answer>(
  plugin: Plugin,
  ask: () => Promise<Answer> | undefined,
  onProblem: Request['onProblem'],
): Promise<Answer | undefined | typeof FAILED> {
  try {
    return await inTime(ask(), HOOK_TIMEOUT_MS, () => new Error(`it did not answer within ${HOOK_TIMEOUT_MS} ms`));
  } catch (error) {
    onProblem(plugin, error);
    return FAILED;
  }
}
