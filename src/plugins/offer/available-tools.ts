import { inTime } from '../../common/in-time.ts';
import type { Agent } from '../../contracts/agent.ts';
import { decide } from '../approval/decide.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { PluginConversation } from '../api/plugin.ts';
import type { PluginStore } from '../api/tool-context.ts';
import { isCallable } from '../registry/is-callable.ts';
import type { RegisteredTool, Registry } from '../registry/registry.ts';
import { SAVE_TOOL } from '../../contracts/attachments/media.ts';
import { CLIENT_PLUGIN } from '../../contracts/client-tool.ts';
import { PLAN_TOOL } from '../../contracts/plan/plan.ts';
import { SKILL_TOOL } from '../../contracts/skills/skill.ts';
import { MEMORY_PLUGIN } from '../../contracts/memory/memory.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import { AGENT_TOOLS } from '../../contracts/sub-agent.ts';
import { mayUseSandbox, type SandboxUse } from '../../contracts/sub-agents/sandbox-use.ts';
import { RECALL_TOOL } from '../../contracts/transcript.ts';
import { SEARCH_TOOL } from '../builtin/tools.ts';

const HOOK_TIMEOUT_MS = 2000;
/** Characters that a plugin may add to the instructions of each step. */
const LONGEST_TEXT = 100_000;

interface Request {
  registry: Registry;
  agent: Agent;
  conversation: PluginConversation;
  /** The store of a plugin in the conversation. If absent, hooks get no store. */
  storeOf?: (plugin: Plugin) => PluginStore;
  /** No person is available to approve calls. */
  unattended: boolean;
  /** The sandbox of a sub-agent that has none of its own. */
  sandboxUse?: SandboxUse | undefined;
  /** What is left out of the prompts can be recalled. */
  recalls?: boolean;
  /** The conversation has attachments, which can be written into its sandbox. */
  saves?: boolean;
  /** Called with each plugin whose hook fails or times out. */
  onProblem: (plugin: Plugin, error: unknown) => void;
}

/**
 * The tools that may be called in a conversation: those of the agent, the search tool, the one that recalls, the one that saves attachments, those that give tasks to the agents that it names,
 * those of its memory, and those that clients run, without those that their plugins do not offer in it. If no person can be asked, these are only tools that read and need no
 * approval, and those that a judge may allow. Without a sandbox, tools that work in one are left out. A plugin whose hook fails offers nothing.
 */
export async function availableTools({
  registry,
  agent,
  conversation,
  storeOf,
  unattended,
  sandboxUse,
  recalls = false,
  saves = false,
  onProblem,
}: Request): Promise<RegisteredTool[]> {
  const given = registry.forAgent(agent).filter((tool) => isCallable(tool) && (!unattended || runsUnattended(agent, tool)));
  const added = [
    SEARCH_TOOL,
    ...(recalls ? [RECALL_TOOL] : []),
    ...(agent.agents ? Object.values(AGENT_TOOLS) : []),
    ...(agent.skills ? [SKILL_TOOL] : []),
    ...(agent.plan ? [PLAN_TOOL] : []),
  ].flatMap((id) => registry.get(id) ?? []);
  // Nobody is there to run tools of clients in an unattended conversation.
  const ofClients = unattended ? [] : registry.tools.filter(({ pluginId }) => pluginId === CLIENT_PLUGIN);
  const others = [...added, ...(saves ? savingTools(registry, given, sandboxUse) : []), ...memoryTools(registry, agent)];
  const fitting = others.filter((tool) => added.includes(tool) || !unattended || runsUnattended(agent, tool));
  const all = [...given, ...[...fitting, ...ofClients].filter((tool) => !given.includes(tool))];
  const tools = all.filter(({ id, isolation }) => isolation !== 'container' || mayUseSandbox(sandboxUse, id));
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

/** What saves attachments in the sandbox. An agent that does nothing there has no use for files in it. */
function savingTools(registry: Registry, given: RegisteredTool[], sandboxUse: SandboxUse | undefined): RegisteredTool[] {
  const saving = registry.get(SAVE_TOOL);
  return saving && mayUseSandbox(sandboxUse, SAVE_TOOL) && given.some(({ isolation }) => isolation === 'container') ? [saving] : [];
}

function memoryTools(registry: Registry, { memory }: Agent): RegisteredTool[] {
  return memory === undefined ? [] : registry.tools.filter(({ pluginId }) => pluginId === MEMORY_PLUGIN);
}

/** The texts that the plugins of these tools add to the instructions, in the order of the tools. */
export async function promptTexts(
  { registry, conversation, storeOf, onProblem }: Omit<Request, 'agent' | 'unattended' | 'sandboxUse' | 'recalls' | 'saves'>,
  tools: RegisteredTool[],
): Promise<string[]> {
  const texts = await Promise.all(
    pluginsOf(registry, tools).map(async (plugin) => {
      const text = await askPlugin(plugin, () => plugin.promptText?.({ ...conversation, ...(storeOf && { store: storeOf(plugin) }) }), onProblem);
      if (typeof text !== 'string' || text.length <= LONGEST_TEXT) return text;
      onProblem(
        plugin,
        new Error(`its text for the instructions has ${text.length} characters; the middle is left out, since more than ${LONGEST_TEXT} are too many`),
      );
      return cutMiddle(text, LONGEST_TEXT);
    }),
  );
  return texts.filter((text): text is string => typeof text === 'string' && text.trim() !== '');
}

/** Ignores rules with conditions on arguments: they apply when the tool is called. A judge may allow calls of which rules say that it is asked. */
function runsUnattended(agent: Agent, tool: RegisteredTool): boolean {
  const approval = agent.approval.flatMap(({ when, ...rule }) => (when === undefined || rule.decide === 'auto' ? [rule] : []));
  const { decision, auto } = decide({ ...agent, approval }, tool, {});
  return auto === true || (tool.annotations.readOnlyHint === true && decision === 'allow');
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
  const { hookTimeoutMs = HOOK_TIMEOUT_MS } = plugin;
  try {
    return await inTime(ask(), hookTimeoutMs, () => new Error(`it did not answer within ${hookTimeoutMs} ms`));
  } catch (error) {
    onProblem(plugin, error);
    return FAILED;
  }
}
