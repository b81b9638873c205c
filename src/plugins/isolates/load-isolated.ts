import { failure } from '../../contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../platform/log.ts';
import { definePlugin, type Permissions, type Plugin, type PluginDefinition, type Tool, type ToolContext } from '../api/define-plugin.ts';
import { TOOL_DATA } from '../api/define-tool.ts';
import { alertsOf, NATIVE_DIALECT } from '../api/plugin-details.ts';
import type { PluginConversation, PluginDetails, PluginHost } from '../api/plugin.ts';
import type { CodeOptions } from '../dialects/shared/plugin-dialect.ts';
import type { PluginBundle } from './bundle-plugin.ts';
import type { CallUnderWay } from './capabilities.ts';
import type { Fence } from './fence/fence.ts';
import { hookContext } from './hook-context.ts';
import { createIsolate, type Isolate } from './isolate.ts';
import type { IsolatesHealth } from './isolate-health.ts';
import type { ProcessLimits } from './loaded-process.ts';
import { createPlaces } from './places.ts';
import { openProcesses } from './plugin-processes.ts';
import type { Grants } from './guest-protocol.ts';
import { runInSandbox } from './run-in-sandbox.ts';

/** Runs plugins in processes behind a fence. */
export interface Isolates extends AsyncDisposable {
  /** `level A (…)`, with what is missing. */
  fence: string;
  /**
   * Starts a process for a plugin's bundled code and returns the plugin, whose functions are calls to the process. `permissions` apply to what the code does
   * while it is loaded; the tools' own permissions apply to their calls.
   * @throws PLUGIN_INVALID as definePlugin does; an Error with the message of what the code threw.
   */
  load(plugin: IsolatedCode): Promise<Plugin>;
  health(): IsolatesHealth;
  /** A group of isolates that ends separately: disposing it ends the processes that were started through it. */
  group(): Isolates;
  /** Calls `onRest` whenever a plugin falls asleep or is woken. Returns a function that stops this. */
  follow(onRest: () => void): () => void;
}

export interface IsolatedCode extends PluginBundle, CodeOptions {
  name: string;
}

export interface IsolatesOptions extends Partial<ProcessLimits> {
  log: Logger;
  /** Milliseconds without use after which a plugin sleeps, without a process. Default: 0, never. */
  idleMs?: number;
  /** The most processes of plugins that run at the same time. Default: 128. */
  maxProcesses?: number;
  /** Milliseconds that a plugin's own functions (`load`, `promptText`, …) may take. Default: 10,000. */
  hookTimeoutMs?: number;
  /** Names of the plugins that are loaded although the fence is level C. Default: none. */
  weaklyFenced?: string[] | 'all';
  /** The fence, where it has been probed already. */
  fence?: Fence;
}

const DEFAULT_LIMITS: ProcessLimits = { unresponsiveMs: 5_000, graceMs: 2_000 };
const HOOK_TIMEOUT_MS = 10_000;
const MAX_PROCESSES = 128;

export async function openIsolates(options: IsolatesOptions): Promise<Isolates> {
  const { log, idleMs = 0, hookTimeoutMs = HOOK_TIMEOUT_MS, weaklyFenced = [], fence, maxProcesses = MAX_PROCESSES, ...limits } = options;
  const processes = await openProcesses(fence);
  const places = createPlaces(maxProcesses);
  const listeners = new Set<() => void>();
  const start = ({ name, code, permissions = {} }: IsolatedCode) => {
    if (processes.level === 'C' && weaklyFenced !== 'all' && !weaklyFenced.includes(name)) throw tooWeak(name, processes.fence, weaklyFenced);
    return createIsolate({
      plugin: name,
      code,
      grants: grantsOf(permissions),
      processes,
      places,
      limits: { ...DEFAULT_LIMITS, ...limits },
      idleMs,
      onRest: () => listeners.forEach((listener) => listener()),
      log,
      now: () => performance.now(),
    });
  };
  const follow = (onRest: () => void) => {
    listeners.add(onRest);
    return () => void listeners.delete(onRest);
  };
  const all = groupOf({ fence: processes.fence, level: processes.level, hookTimeoutMs, start, follow });
  return {
    ...all,
    async [Symbol.asyncDispose]() {
      await all[Symbol.asyncDispose]();
      await processes[Symbol.asyncDispose]();
    },
  };
}

function tooWeak(name: string, fence: string, weaklyFenced: string[]): Error {
  return failure('PLUGIN_INVALID', {
    plugin: JSON.stringify(name),
    problem: `it is refused at this level of the plugin fence: ${fence}. Code that breaks out of its compartment there can do what the worker can do, with its Docker engine too`,
    fix: `Give the worker a better fence (longshore doctor says what prevents it); or, if you trust this plugin, set LONGSHORE_WEAKLY_FENCED_PLUGINS=${[...weaklyFenced, name].join(',')}`,
  });
}

interface Shared extends Pick<Isolates, 'fence' | 'follow'>, Pick<IsolatesHealth, 'level'> {
  hookTimeoutMs: number;
  start: (plugin: IsolatedCode) => Isolate;
}

/** Keeps track of what was started through it and through its groups, so that it can end all of it. */
function groupOf(shared: Shared): Isolates {
  const { fence, level, follow, hookTimeoutMs, start } = shared;
  const isolates = new Set<Isolate>();
  const groups = new Set<Isolates>();
  const ids = new WeakMap<Isolate, string>();
  return {
    fence,
    follow,
    health() {
      const named = [...isolates].flatMap((isolate) => isolate.health().map((each) => ({ plugin: ids.get(isolate) ?? '', ...each })));
      const own = named.filter(({ plugin }) => plugin !== '');
      return { level, fence, plugins: [...own, ...[...groups].flatMap((group) => group.health().plugins)] };
    },
    group() {
      const group = groupOf(shared);
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
      const { permissions = {}, defaults = {}, settle = () => ({}) } = given;
      let bundled: Promise<string> | undefined;
      const codeForSandbox = () => (bundled ??= given.forSandbox());
      try {
        const { plugin, hooks } = await isolate.describe();
        const made = pluginOf(plugin, hooks, { isolate, grants: grantsOf(permissions), defaults, settle, hookTimeoutMs, codeForSandbox });
        if (hasContainerTool(made)) await codeForSandbox();
        else if (given.needsSandbox) throw given.needsSandbox;
        ids.set(isolate, made.id);
        return made;
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

interface Making extends Required<Pick<IsolatedCode, 'defaults' | 'settle'>> {
  isolate: Isolate;
  grants: Grants;
  hookTimeoutMs: number;
  codeForSandbox: () => Promise<string>;
}

function pluginOf(described: JsonObject, hooks: string[], making: Making): Plugin {
  const id = textOf(described['id'] ?? making.defaults.id);
  const { dialect = NATIVE_DIALECT } = described;
  const define = (given: JsonObject): Plugin => {
    const tools = Array.isArray(given['tools']) ? given['tools'].map((tool) => (isObject(tool) ? toolOf(id, tool, making) : tool)) : undefined;
    const definition = {
      ...(dialect !== NATIVE_DIALECT && making.defaults),
      ...given,
      tools,
      alerts: alertsOf(given['alerts']),
      ...hooksOf(id, hooks, making),
    };
    return definePlugin(definition as unknown as PluginDefinition);
  };
  const plugin = Object.assign(define(described), { isAsleep: () => making.isolate.isAsleep() });
  if (!hooks.includes('load')) return plugin;
  return Object.assign(plugin, {
    async load({ env, config }: PluginHost) {
      const found = await callHook(id, 'load', [{ env: { ...env }, config }], making);
      if (!isObject(found) || !Array.isArray(found['tools'])) return;
      const made = define({ ...described, ...found });
      // Now and not with the first call: until then, the files may become others than those that were checked.
      if (hasContainerTool(made)) await making.codeForSandbox();
      Object.assign(plugin, { tools: made.tools, alerts: made.alerts });
    },
  });
}

function hasContainerTool({ tools }: Pick<Plugin, 'tools'>): boolean {
  return tools.some(({ isolation }) => isolation === 'container');
}

/** A call that has no capabilities except those of its caller. */
function callHook(id: string, hook: string, args: Json[], { isolate, grants, hookTimeoutMs }: Making, caller?: CallUnderWay): Promise<Json> {
  const conversation = caller?.context.conversationId ?? '';
  return isolate.call({ name: `${id}.${hook}`, target: { hook }, conversation, grants, args, timeoutMs: hookTimeoutMs, ...(caller && { caller }) });
}

function toolOf(pluginId: string, described: JsonObject, { isolate, settle, codeForSandbox }: Making): Tool {
  const settled = settle(described);
  const permissions = settled.permissions ?? (isObject(described['permissions']) ? described['permissions'] : {});
  const tool = textOf(described['id']);
  const name = `${pluginId}:${tool}`;
  const timeoutMs = Number(described['timeoutMs']);
  const grants = grantsOf(permissions);
  const inCompartment = (input: JsonObject, context: ToolContext): Promise<Json> =>
    isolate.call({ name, target: { tool }, conversation: context.conversationId, grants, args: [input], timeoutMs, caller: { context, permissions } });
  const inSandbox = async (input: JsonObject, context: ToolContext): Promise<Json> => {
    const sandboxed = { name, tool, timeoutMs, code: await codeForSandbox(), host: isolate.loadedWith() ?? null, files: grants.files };
    return runInSandbox(sandboxed, input, { context, permissions });
  };
  // The plugin chooses where the tool runs only between these two, which are both isolated.
  const isolation = described['isolation'] === 'container' ? 'container' : 'compartment';
  const execute = isolation === 'container' ? inSandbox : inCompartment;
  return { ...dataOf(described), ...settled, permissions, isolation, execute };
}

/** What its author may say of a tool. Longshore sets the other fields, such as the part that a tool takes in steps; code behind a fence must not. */
function dataOf(described: JsonObject): Omit<Tool, 'permissions' | 'isolation' | 'execute'> {
  return Object.fromEntries(Object.entries(described).filter(([name]) => TOOL_DATA.includes(name))) as unknown as Tool;
}

/** Functions of the plugin itself. */
function hooksOf(id: string, hooks: string[], making: Making): Partial<PluginDetails> {
  const call = (hook: string, args: Json[], caller?: CallUnderWay) => callHook(id, hook, args, making, caller);
  const about = ({ conversationId, userId, tenantId, agentId }: PluginConversation): JsonObject => ({ conversationId, userId, tenantId, agentId });
  const callerOf = (conversation: PluginConversation): CallUnderWay => ({ context: hookContext(conversation), permissions: {} });
  const all: Partial<PluginDetails> = {
    async promptText(conversation) {
      const text = await call('promptText', [about(conversation)], callerOf(conversation));
      return typeof text === 'string' ? text : undefined;
    },
    async selectTools(conversation) {
      const ids = await call('selectTools', [about(conversation)], callerOf(conversation));
      return Array.isArray(ids) ? ids.filter((tool) => typeof tool === 'string') : undefined;
    },
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
