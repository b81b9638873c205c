/** The types of a plugin: what it declares, its definition, and what it is given. */
import type { JsonObject } from '../../contracts/json.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { AnswerTask } from './task-question.ts';
import type { PluginStore } from './tool-context.ts';
import type { Tool } from './tool.ts';
import type { Delivered, WebhookDelivery } from './webhook-request.ts';

/** The name of the style in which a plugin was written. */
export type Dialect = string;

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
  /** Hosts that operators let the plugin reach. Only for a plugin with `setNetwork`; tools of others name their hosts in their permissions. */
  network?: readonly string[];
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
  /** How long `promptText` and `selectTools` may take. Only for a plugin whose sandbox may have to be started first; others have 2 seconds. */
  hookTimeoutMs?: number;
  /** How long `load` and `updateConfig` may take. Only for a plugin that needs a sandbox to say what it offers with a configuration; others have 30 seconds. */
  changeTimeoutMs?: number;
  /** Code in an isolated process may return `{ tools, alerts }`, which replace those of its definition. */
  load?(host: PluginHost): Promise<void>;
  unload?(): Promise<void>;
  updateConfig?(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void>;
  /** Replaces the hosts that it may reach, at once, when operators have changed their grants. Only for a plugin with a network of its own. */
  setNetwork?(hosts: readonly string[]): Promise<void>;
  /** Answers what tasks in its sandbox of a tenant, which runs on this host, ask now. Only for plugins in sandboxes of their own. */
  answerTasks?(tenantId: string, answer: AnswerTask): Promise<void>;
  /** Gives a request of an outside system to its function, in its sandbox of the tenant, which is made or woken for it. Only for plugins in sandboxes of their own. */
  receive?(delivery: WebhookDelivery): Promise<Delivered>;
  /** Set by the host for plugins in isolated processes: true while these are ended because no conversation uses the plugin. */
  isAsleep?(): boolean;
}

export interface Plugin extends PluginDetails {
  /** Letters, digits, `-`, `_` and `.`, with an optional `@scope/` before them. */
  id: string;
  version: string;
  description: string;
  /** Read again after `load` and `updateConfig`, which may have changed them. */
  tools: Tool[];
}

export interface PluginDefinition extends Partial<PluginDetails> {
  id: string;
  /** Part of the hash that approvals are bound to: change it when the behaviour changes. Default: the version in package.json, else `0.0.0`. */
  version?: string;
  description?: string;
  tools: Tool[];
}
