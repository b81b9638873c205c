import { inTime } from '../../common/in-time.ts';
import type { Agent } from '../../contracts/agent.ts';
import { decide } from '../approval/decide.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { PluginConversation } from '../api/plugin.ts';
import type { PluginStore } from '../api/tool-context.ts';
import type { RegisteredTool, Registry } from '../registry/registry.ts';
import { SEARCH_TOOL } from '../builtin/tools.ts';

const HOOK_TIMEOUT_MS = 2000;

interface Request {
  registry: Registry;
  agent: Agent;
  conversation: PluginConversation;
  /** The store of a plugin in the conversation. If absent, hooks get no store. */
  storeOf?: (plugin: Plugin) => PluginStore;
  /** No person is available to approve calls. */
  unattended: boolean;
  /** Called with each plugin whose hook fails or times out. */
  onProblem: (plugin: Plugin, error: unknown) => void;
}

/**
 * The tools that may be called in a conversation: the search tool and those of the agent, without those that their plugins do not offer in it. If no
 * person can be asked, these are only tools that read and need no approval. A plugin whose hook fails offers nothing.
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

/** The texts that the plugins of these tools add to the instructions, in the order of the tools. */
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

/** Ignores rules with conditions on arguments: they apply when the tool is called. */
function runsUnattended(agent: Agent, tool: RegisteredTool): boolean {
  const approval = agent.approval.filter(({ when }) => when === undefined);
  return tool.annotations.readOnlyHint === true && decide({ ...agent, approval }, tool, {}).decision === 'allow';
}

function pluginsOf(registry: Registry, tools: RegisteredTool[]): Plugin[] {
  return [...new Set(tools.map(({ pluginId }) => pluginId))].flatMap((id) => registry.plugin(id) ?? []);
}

const FAILED = Symbol('failed');

/** A hook is code of a plugin. The step must continue if the hook throws or does not return. */
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
