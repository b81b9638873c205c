import type { JsonObject } from '../../contracts/json.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Plugin } from './define-plugin.ts';
import type { PluginStore } from './tool-context.ts';

/** The name of the style in which a plugin was written. */
export type Dialect = string;

/** The dialect of plugins that name none. */
export const NATIVE_DIALECT = 'longshore';

/** Something that an operator should know about a plugin. */
export interface PluginAlert {
  level: 'info' | 'warning' | 'error';
  text: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** A conversation, as a plugin sees it between calls. */
export interface PluginConversation {
  conversationId: string;
  userId: string;
  tenantId: string;
  agentId: string;
  /** The store of the plugin, the same one that its tools have in this conversation. */
  store?: PluginStore;
}

/** A running sandbox with MCP servers in it. */
export type ServerSandbox = Pick<WorkerHandle, 'serverMark' | 'callServer' | 'forget'>;

/** What a plugin is given when it is loaded. */
export interface PluginHost {
  /** The declared environment variables that the worker has. */
  env: Readonly<Record<string, string>>;
  config: JsonObject;
  logger: { info(message: string, values?: object): void; warn(message: string, values?: object): void };
}

export interface Variable {
  name: string;
  required: boolean;
  /** Given only to those tools whose permissions name it too. */
  byPermission?: boolean;
}

/** What a plugin declares besides its tools. */
export interface PluginDetails {
  dialect: Dialect;
  /** Directory or package that it was loaded from, as agents write it. Only agents that name it get its tools. Absent for built-in plugins and MCP servers. */
  source?: string;
  /** One line that is shown instead of all its tools while they are deferred. */
  brief?: string;
  /** Ids of plugins that have to be loaded before it. */
  dependencies?: string[];
  /** Environment variables that its tools get. If a `required` one is not set, the plugin is not loaded. */
  environment: Variable[];
  /** JSON Schema of its configuration, an object; secrets are marked `"x-secret": true`. */
  configSchema: JsonObject | undefined;
  /** Whether its tools need approval. A tool's own `requireApproval` takes precedence. */
  requireApproval: boolean | undefined;
  alerts: PluginAlert[];
  /** Why its tools cannot be called now. Only for MCP servers, which can become unavailable at any time. */
  problem?: string;
  /** Connects to the server again, or lists its tools again, when an operator asks for it. Only for MCP servers. */
  restart?(): void;
  /** Called by the plugin manager when the plugin is enabled or disabled. Idempotent. The session of a disabled server is closed. */
  setEnabled?(isEnabled: boolean): void;
  /** The plugin for one conversation, if it differs: a server in the conversation's sandbox can have other tools. */
  inConversation?(conversation: PluginConversation): Promise<Plugin | undefined>;
  /**
   * Checks whether the server in a conversation's sandbox has changed its tools; `inConversation` then returns the new ones. This may restart the server:
   * `onRestart` is then called with the reason.
   */
  lookInto?(conversation: PluginConversation, sandbox: ServerSandbox, onRestart: (why: string) => Promise<void>): Promise<void>;
  /** Text that is added to the instructions of each step. */
  promptText?(conversation: PluginConversation): Promise<string | undefined>;
  /** Ids, without the plugin id, of the tools that are offered in this conversation; undefined offers all. */
  selectTools?(conversation: PluginConversation): Promise<string[] | undefined>;
  /** Code in an isolated process may return `{ tools, alerts }`, which replace those of its definition. */
  load?(host: PluginHost): Promise<void>;
  unload?(): Promise<void>;
  updateConfig?(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void>;
  /** Set by the host for plugins in isolated processes: true while these are ended because no conversation uses the plugin. */
  isAsleep?(): boolean;
}

/** Version of a plugin that does not give one. */
export const UNVERSIONED = '0.0.0';
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HOOKS = ['promptText', 'selectTools', 'load', 'unload', 'updateConfig'] as const;

/** The details with their defaults. Hooks, `source`, `brief` and `dependencies` have none and are left out if they are not given. */
export function detailsOf(given: Partial<PluginDetails>): PluginDetails {
  const { dialect = NATIVE_DIALECT, environment = [], configSchema, requireApproval, alerts = [], source, brief, dependencies } = given;
  const named = { ...(source !== undefined && { source }), ...(brief !== undefined && { brief }), ...(dependencies !== undefined && { dependencies }) };
  // Bound, so that the hooks of a class's instance keep their `this`.
  const hooks = Object.fromEntries(HOOKS.flatMap((name) => (given[name] ? [[name, given[name].bind(given)]] : [])));
  return { dialect, environment, configSchema, requireApproval, alerts, ...named, ...hooks };
}

const MAX_ALERTS = 50;
const MAX_ALERT_LENGTH = 1_000;

function cutAlert(text: string): string {
  return text.length <= MAX_ALERT_LENGTH ? text : `${text.slice(0, MAX_ALERT_LENGTH)} …cut, ${text.length - MAX_ALERT_LENGTH} more characters`;
}

/** Reads the alerts that code of a plugin gives and dates them now. Invalid entries are skipped. */
export function alertsOf(given: unknown): PluginAlert[] {
  if (!Array.isArray(given)) return [];
  const at = new Date().toISOString();
  const left = given.length - MAX_ALERTS;
  const told = given.slice(0, MAX_ALERTS).flatMap((alert: { level?: unknown; text?: unknown } | null): PluginAlert[] => {
    if (typeof alert?.text !== 'string') return [];
    const level = alert.level === 'error' || alert.level === 'warning' ? alert.level : 'info';
    return [{ level, text: cutAlert(alert.text), at }];
  });
  return left > 0 ? [...told, { level: 'warning', text: `${left} more alerts are left out: at most ${MAX_ALERTS} are kept`, at }] : told;
}

/** The first problem of the details of a definition; undefined if they are valid. */
export function problemOfDetails(given: Partial<PluginDetails>): string | undefined {
  const { environment = [], configSchema, brief = '', dependencies = [] } = given;
  if (!Array.isArray(environment) || !environment.every((variable) => VARIABLE.test(variable?.name) && typeof variable.required === 'boolean')) {
    return '"environment" is not a list of { name, required }';
  }
  if (configSchema !== undefined && configSchema['type'] !== 'object') return '"configSchema" is not the JSON Schema of an object ("type": "object")';
  if (!Array.isArray(dependencies) || !dependencies.every((id) => typeof id === 'string')) return '"dependencies" is not a list of plugin ids';
  if (typeof brief !== 'string') return '"brief" is not a text';
  const hook = HOOKS.find((name) => given[name] !== undefined && typeof given[name] !== 'function');
  return hook && `"${hook}" is not a function`;
}
