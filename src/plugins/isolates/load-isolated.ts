import type { Json, JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../log.ts';
import { definePlugin, type Permissions, type Plugin, type Tool, type ToolContext } from '../define-plugin.ts';
import type { PluginConversation, PluginDetails } from '../plugin-details.ts';
import { createIsolate, type Isolate } from './isolate.ts';
import type { Limits } from './loaded-process.ts';
import { openProcesses } from './processes.ts';
import type { Grants } from './protocol.ts';

/** Runs plugins in fenced processes. */
export interface Isolates extends AsyncDisposable {
  /** `level A (…)`, with what is missing. */
  fence: string;
  /**
   * Starts a process for a plugin's bundled code and gives the plugin, whose functions are calls to it. `permissions` are for what the code does while
   * it is loaded; those of the tools are for their calls.
   * @throws PLUGIN_INVALID as definePlugin does; an Error with the message of what the code threw.
   */
  load(plugin: { name: string; code: string; permissions?: Permissions }): Promise<Plugin>;
  /** Isolates of the same kind that end by themselves: disposing them ends the processes that were started through them. */
  group(): Isolates;
}

export interface IsolatesOptions extends Partial<Limits> {
  log: Logger;
}

const DEFAULT_LIMITS: Limits = { unresponsiveMs: 5_000, graceMs: 2_000 };
const HOOK_TIMEOUT_MS = 10_000;

export async function openIsolates({ log, ...limits }: IsolatesOptions): Promise<Isolates> {
  const processes = await openProcesses();
  const start = ({ name, code, permissions = {} }: Parameters<Isolates['load']>[0]) =>
    createIsolate({
      plugin: name,
      code,
      grants: grantsOf(permissions),
      processes,
      limits: { ...DEFAULT_LIMITS, ...limits },
      log,
      now: () => performance.now(),
    });
  const all = groupOf(processes.fence, start);
  return {
    ...all,
    async [Symbol.asyncDispose]() {
      await all[Symbol.asyncDispose]();
      await processes[Symbol.asyncDispose]();
    },
  };
}

/** Knows what was started through it and through its groups, so that it can end all of that. */
function groupOf(fence: string, start: (plugin: Parameters<Isolates['load']>[0]) => Isolate): Isolates {
  const isolates = new Set<Isolate>();
  const groups = new Set<Isolates>();
  return {
    fence,
    group() {
      const group = groupOf(fence, start);
      const made: Isolates = {
        ...group,
        async [Symbol.asyncDispose]() {
          groups.delete(made);
          await group[Symbol.asyncDispose]();
        },
      };
      groups.add(made);
      return made;
    },
    async load(given) {
      const isolate = start(given);
      isolates.add(isolate);
      try {
        const { plugin, hooks } = await isolate.describe();
        return pluginOf(plugin, hooks, isolate, grantsOf(given.permissions ?? {}));
      } catch (error) {
        isolates.delete(isolate);
        await isolate.close();
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...[...groups].map((group) => group[Symbol.asyncDispose]()), ...[...isolates].map((isolate) => isolate.close())]);
    },
  };
}

function pluginOf(described: JsonObject, hooks: string[], isolate: Isolate, grants: Grants): Plugin {
  const id = textOf(described['id']);
  const given = Array.isArray(described['tools']) ? described['tools'] : undefined;
  const tools = given?.map((tool) => (isObject(tool) ? toolOf(id, tool, isolate) : tool));
  const definition = { ...described, tools, ...hooksOf(id, hooks, isolate, grants) };
  return definePlugin(definition as unknown as Parameters<typeof definePlugin>[0]);
}

function toolOf(pluginId: string, described: JsonObject, isolate: Isolate): Tool {
  const permissions = isObject(described['permissions']) ? (described['permissions'] as Permissions) : {};
  const toolId = textOf(described['id']);
  const call = (input: JsonObject, context: ToolContext): Promise<Json> =>
    isolate.call({
      name: `${pluginId}:${toolId}`,
      target: { tool: toolId },
      conversation: context.conversationId,
      grants: grantsOf(permissions),
      args: [input],
      timeoutMs: Number(described['timeoutMs']),
      caller: { context, permissions },
    });
  // Where its effects are is the plugin's to say only between the two that are fenced.
  const isolation = described['isolation'] === 'container' ? 'container' : 'compartment';
  return { ...(described as unknown as Tool), permissions, isolation, execute: call };
}

/** Functions of the plugin itself; each is a call without capabilities. */
function hooksOf(id: string, hooks: string[], isolate: Isolate, grants: Grants): Partial<PluginDetails> {
  const call = (hook: string, args: Json[], conversation = '') =>
    isolate.call({ name: `${id}.${hook}`, target: { hook }, conversation, grants, args, timeoutMs: HOOK_TIMEOUT_MS });
  const about = ({ conversationId, userId, tenantId, agentId }: PluginConversation): JsonObject => ({ conversationId, userId, tenantId, agentId });
  const all: Partial<PluginDetails> = {
    async promptText(conversation) {
      const text = await call('promptText', [about(conversation)], conversation.conversationId);
      return typeof text === 'string' ? text : undefined;
    },
    async selectTools(conversation) {
      const ids = await call('selectTools', [about(conversation)], conversation.conversationId);
      return Array.isArray(ids) ? ids.filter((tool) => typeof tool === 'string') : undefined;
    },
    load: async ({ env, config }) => void (await call('load', [{ env: { ...env }, config }])),
    unload: async () => void (await call('unload', [])),
    updateConfig: async (scope, data, version) => void (await call('updateConfig', [scope, data, version])),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => hooks.includes(name)));
}

function grantsOf({ time = false, random = false, network = [], fs = [] }: Permissions): Grants {
  return { time, random, network: network.length > 0, files: fs.length > 0 };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
