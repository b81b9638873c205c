import type { JsonObject } from '../../contracts/json.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Plugin } from './define-plugin.ts';
import type { PluginStore } from './tool-context.ts';

/** The style in which a plugin was written; `mcp` plugins are servers. */
export type Dialect = 'longshore' | 'pandora' | 'maibot' | 'nekro' | 'mcp';

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
  /** The plugin's, as its tools have it in this conversation. */
  store?: PluginStore;
}

/** A sandbox with MCP servers in it, awake. */
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

/** What a plugin says of itself besides its tools. */
export interface PluginDetails {
  dialect: Dialect;
  /** Directory or package it came from, as agents name it; only those that do are given its tools. Absent for what is part of the worker. */
  source?: string;
  /** One line that stands for all its tools where they are deferred. */
  brief?: string;
  /** Ids of plugins that have to be loaded before it. */
  dependencies?: string[];
  /** Environment variables that its tools are given; without a `required` one it is not loaded. */
  environment: Variable[];
  /** JSON Schema of its configuration, an object; secrets are marked `"x-secret": true`. */
  configSchema: JsonObject | undefined;
  /** Whether its tools ask for approval, where they do not say it themselves. */
  requireApproval: boolean | undefined;
  alerts: PluginAlert[];
  /** Why its calls cannot be made for now; of servers, which come and go by themselves. */
  problem?: string;
  /** Begins anew, as an operator asks for; of servers as well. */
  restart?(): void;
  /** Told by whoever manages plugins whether it may be used; a server that may not is ended. The same word twice is one. */
  setEnabled?(isEnabled: boolean): void;
  /** The plugin as a conversation has it, where that is another one: a server in its sandbox has tools of its own. */
  inConversation?(conversation: PluginConversation): Promise<Plugin | undefined>;
  /**
   * Looks whether the server in a conversation's sandbox has other tools by now, of which `inConversation` knows then. To ask it may be to start it again,
   * which `onRestart` is told, with the reason.
   */
  lookInto?(conversation: PluginConversation, sandbox: ServerSandbox, onRestart: (why: string) => Promise<void>): Promise<void>;
  /** Text that joins the instructions at each step. */
  promptText?(conversation: PluginConversation): Promise<string | undefined>;
  /** The tools offered in this conversation, by their ids without the plugin's; undefined offers all. */
  selectTools?(conversation: PluginConversation): Promise<string[] | undefined>;
  /** Code that is fenced may answer with `{ tools, alerts }`, which then stand in the place of those that it was written with. */
  load?(host: PluginHost): Promise<void>;
  unload?(): Promise<void>;
  updateConfig?(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void>;
  /** Set by the host for plugins that are fenced: true while it has no process, since nobody uses it. */
  isAsleep?(): boolean;
}

/** Version of a plugin that does not say it. */
export const UNVERSIONED = '0.0.0';
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HOOKS = ['promptText', 'selectTools', 'load', 'unload', 'updateConfig'] as const;

/** The details with their defaults; those that are functions or names are left out where they are not given. */
export function detailsOf(given: Partial<PluginDetails>): PluginDetails {
  const { dialect = 'longshore', environment = [], configSchema, requireApproval, alerts = [], source, brief, dependencies } = given;
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

/** Alerts as code of a plugin gives them, told now; what is none is left out. */
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

/** What is wrong with the details of a definition, in words. */
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
