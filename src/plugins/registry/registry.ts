import type { Agent } from '../../contracts/agent.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import { failure } from '../../contracts/errors.ts';
import { aliasOf } from './alias.ts';
import type { Plugin, Tool } from '../api/define-plugin.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { identityFieldsOf, identityOf, unnamedFieldsOf, withoutFields, withoutKeys } from '../api/identity-fields.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import { createCompiler, type Compile } from '../schemas/validate-arguments.ts';

/** A tool under its full id, `pluginId:toolId`. */
export interface RegisteredTool extends Tool {
  /** Full id. */
  id: string;
  /** Name for model providers, `[A-Za-z0-9_-]{1,64}`. */
  alias: string;
  pluginId: string;
  pluginVersion: string;
  /** Names of the environment variables that its calls are given: the plugin's and the tool's own. */
  environment: string[];
  /** The given arguments without those that only the host may set (`user_id` and the like). */
  accept(input: JsonObject): JsonObject;
  /** Problems of a call's arguments, each with its path; empty if they are valid. */
  problemsOf(input: Json): string[] | Promise<string[]>;
  /** Problems of a result that is text or JSON, by the tool's own schema. */
  resultProblemsOf(result: Json): string[] | Promise<string[]>;
  /** Throws PLUGIN_INVALID if a schema that could not be compiled at once is invalid. */
  compiled(): Promise<void>;
}

/** All tools that a worker knows, under one validation. */
export interface Registry {
  /** Sorted by id. */
  tools: RegisteredTool[];
  /** By full id. */
  get(id: string): RegisteredTool | undefined;
  /** By its id. */
  plugin(id: string): Plugin | undefined;
  /**
   * The tools that an agent may call, sorted by id: those that its patterns match among the built-in ones and those of the plugins and servers that it names.
   * Throws AGENT_INVALID for a pattern that matches nothing, unless its plugin is disabled or is a server of the agent.
   */
  forAgent(agent: Pick<Agent, 'id' | 'tools' | 'plugins' | 'mcp'>): RegisteredTool[];
  /** The provider-safe name of a full id. Throws TOOL_NOT_FOUND. */
  toAlias(id: string): string;
  /** The full id of a provider-safe name; undefined for an unknown name. */
  fromAlias(alias: string): string | undefined;
  /** A copy with these plugins, which replace those with the same ids. Throws as `createRegistry` does. */
  replacing(plugins: Plugin[]): Registry;
}

export interface RegistryOptions {
  /** Registers the tools of a plugin. Several registries that use the same function do the work once. */
  register?: (plugin: Plugin) => RegisteredTool[];
  /** Ids of plugins that an operator disabled: agents that name their tools continue without them. */
  disabled?: string[];
  /** Called when a pattern matches no tool. */
  notAtWork?: () => NotAtWork[];
}

/** Plugins that agents name and that are not disabled, but could not be loaded. */
export interface NotAtWork {
  /** As agents name it. */
  source: string;
  /** Ids of its plugins; empty if they are not known. */
  ids: string[];
  problem: string;
}

/** Returns a function that registers each plugin once. */
export function createRegistrar(compile: Compile = createCompiler()): (plugin: Plugin) => RegisteredTool[] {
  // The key is the list of tools, because a plugin can replace its tools.
  const known = new WeakMap<Tool[], RegisteredTool[]>();
  return (plugin) => {
    const tools = known.get(plugin.tools) ?? registerPlugin(plugin, compile);
    known.set(plugin.tools, tools);
    return tools;
  };
}

/**
 * Puts the tools of plugins under their full ids.
 * @throws PLUGIN_COLLISION when two plugins have the same id, PLUGIN_INVALID when a tool's JSON Schema cannot be compiled.
 */
export function createRegistry(plugins: Plugin[], { register = createRegistrar(), disabled = [], notAtWork = () => [] }: RegistryOptions = {}): Registry {
  refuseCollisions(plugins);
  const byPlugin = new Map(plugins.map((plugin) => [plugin.id, register(plugin)]));
  const tools = [...byPlugin.values()].flat().toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  const byAlias = indexAliases(tools);
  const pluginsById = new Map(plugins.map((plugin) => [plugin.id, plugin]));
  return {
    tools,
    get: (id) => byId.get(id),
    plugin: (id) => pluginsById.get(id),
    forAgent(agent) {
      const reachable = new Set(plugins.filter((plugin) => isWithinReach(plugin, agent)).map(({ id }) => id));
      const within = tools.filter(({ pluginId }) => reachable.has(pluginId));
      const given = new Set<RegisteredTool>();
      for (const pattern of agent.tools) {
        const [plugin = ''] = pattern.split(':');
        // For speed: this runs at each step, and an agent with many plugins has a pattern for each of them.
        const candidates = plugin.includes('*') ? within : (byPlugin.get(plugin) ?? []);
        const found = candidates.filter((tool) => reachable.has(tool.pluginId) && matchesPattern(pattern, tool.id));
        if (found.length === 0) refuseNotAtWork(agent, pattern, notAtWork(), disabled.includes(plugin) || pluginsById.has(plugin));
        const mayBeThere = disabled.includes(plugin) || (reachable.has(plugin) && mayComeLater(plugin, pluginsById));
        if (!mayBeThere && found.length === 0) throw unknownPattern(agent, pattern, within);
        for (const tool of found) given.add(tool);
      }
      return within.filter((tool) => given.has(tool));
    },
    toAlias(id) {
      const tool = byId.get(id);
      if (!tool) throw failure('TOOL_NOT_FOUND', { tool: id, known: namesOf(tools) });
      return tool.alias;
    },
    fromAlias: (alias) => byAlias.get(alias),
    replacing(others) {
      const replaced = plugins.map((plugin) => others.find(({ id }) => id === plugin.id) ?? plugin);
      const added = others.filter(({ id }) => !pluginsById.has(id));
      return createRegistry([...replaced, ...added], { register, disabled, notAtWork });
    },
  };
}

/** A plugin with a source and a server are only for the agents that name them. Other plugins without a source are built in and are for all agents. */
function isWithinReach({ id, source, dialect }: Plugin, { plugins, mcp = {} }: Pick<Agent, 'plugins' | 'mcp'>): boolean {
  if (source !== undefined) return plugins.includes(source);
  return !dialectNamed(dialect).isServer || Object.hasOwn(mcp, id);
}

/** A server that cannot be reached now has no tools yet, and may change them at any time. */
function mayComeLater(pluginId: string, plugins: Map<string, Plugin>): boolean {
  return dialectNamed(plugins.get(pluginId)?.dialect).isServer === true;
}

/**
 * Throws the cause if a pattern matches no tool because a plugin of the agent could not be loaded.
 * @param known the plugin of the pattern is loaded or disabled. If it is neither, the cause can be a source whose plugin ids are not known.
 */
function refuseNotAtWork({ id, plugins, mcp = {} }: Pick<Agent, 'id' | 'plugins' | 'mcp'>, pattern: string, notAtWork: NotAtWork[], known: boolean): void {
  const [plugin = ''] = pattern.split(':');
  const mayBeAny = !known && !Object.hasOwn(mcp, plugin);
  const cause = notAtWork.find(({ source, ids }) => plugins.includes(source) && (ids.includes(plugin) || (mayBeAny && ids.length === 0)));
  if (!cause) return;
  const problem = `"${pattern}" matches no tool, since a plugin of the agent is not available`;
  throw failure('AGENT_INVALID', { file: `agent "${id}"`, path: 'tools', problem, fix: cause.problem });
}

const MOST_NAMES = 60;

/** Full ids for an error text; a long list is cut. */
export function namesOf(tools: RegisteredTool[]): string {
  if (tools.length === 0) return 'none';
  const names = tools.slice(0, MOST_NAMES).map((tool) => tool.id);
  return tools.length <= MOST_NAMES ? names.join(', ') : `${names.join(', ')} and ${tools.length - MOST_NAMES} more`;
}

function refuseCollisions(plugins: Plugin[]): void {
  const seen = new Map<string, Plugin>();
  for (const plugin of plugins) {
    const first = seen.get(plugin.id);
    if (first) throw failure('PLUGIN_COLLISION', { id: plugin.id, first: nameOf(first), second: nameOf(plugin) });
    seen.set(plugin.id, plugin);
  }
}

function nameOf(plugin: Plugin): string {
  const about = plugin.description ? `, "${plugin.description}"` : '';
  return `${plugin.id} ${plugin.version} (${plugin.tools.map((tool) => tool.id).join(', ')}${about})`;
}

function registerPlugin(plugin: Plugin, compile: Compile): RegisteredTool[] {
  return plugin.tools.map((tool) => {
    const { hasOwnIdentity } = dialectNamed(plugin.dialect);
    const fields = hasOwnIdentity ? [] : identityFieldsOf(tool.parameters);
    const dropped = hasOwnIdentity ? [] : [...fields, ...unnamedFieldsOf(tool.parameters)];
    const parameters = withoutFields(tool.parameters, fields);
    const argumentProblems = compile(plugin.id, tool.id, 'parameters', parameters);
    const resultProblems = tool.resultSchema && compile(plugin.id, tool.id, 'result', tool.resultSchema);
    const accept = (input: JsonObject) => withoutKeys(input, dropped);
    return {
      ...tool,
      id: `${plugin.id}:${tool.id}`,
      alias: aliasOf(plugin.id, tool.id),
      pluginId: plugin.id,
      pluginVersion: plugin.version,
      environment: variablesOf(plugin, tool),
      parameters,
      requireApproval: tool.requireApproval ?? plugin.requireApproval,
      accept,
      problemsOf: (input) => argumentProblems(isObject(input) ? accept(input) : input),
      resultProblemsOf: resultProblems ?? (() => []),
      compiled: async () => {
        await argumentProblems.compiled();
        await resultProblems?.compiled();
      },
      execute: (input, context) => tool.execute({ ...input, ...identityOf(fields, context) }, context),
    };
  });
}

function variablesOf({ environment }: Plugin, { permissions: { env = [] } }: Tool): string[] {
  return [...new Set([...environment.filter(({ byPermission }) => !byPermission).map(({ name }) => name), ...env])];
}

function indexAliases(tools: RegisteredTool[]): Map<string, string> {
  const byAlias = new Map<string, string>();
  for (const tool of tools) {
    const first = byAlias.get(tool.alias);
    if (first !== undefined) throw failure('PLUGIN_COLLISION', { id: tool.alias, first, second: tool.id });
    byAlias.set(tool.alias, tool.id);
  }
  return byAlias;
}

function unknownPattern({ id, mcp = {} }: Pick<Agent, 'id' | 'mcp'>, pattern: string, tools: RegisteredTool[]): Error {
  const [plugin = ''] = pattern.split(':');
  const fix = Object.hasOwn(mcp, plugin)
    ? `Its MCP server "${plugin}" cannot be used: "longshore plugins show mcp:${plugin}" says why`
    : `Known: ${namesOf(tools)}. Name one of them, or add the plugin that provides it to "plugins"`;
  return failure('AGENT_INVALID', { file: `agent "${id}"`, path: 'tools', problem: `"${pattern}" matches no tool`, fix });
}
