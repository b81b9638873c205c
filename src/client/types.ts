import type { ApiKey, Scope } from '../contracts/api-key.ts';
import type { AuditEntry } from '../contracts/audit.ts';
import type { Agent, PermissionBound } from '../contracts/agent.ts';
import type {
  ApprovalAnswer,
  ConversationState,
  ConversationStatus,
  PauseArgs,
  ResolveApprovalResult,
  ResumeArgs,
  SendMessageResult,
  WhenBusy,
} from '../contracts/conversation.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Limits, LimitsOf } from '../contracts/limits.ts';
import type { StoredEntry } from '../contracts/transcript.ts';
import type { UsageGroup, UsageReport } from '../contracts/usage.ts';
import type { Logger } from '../platform/log.ts';
import type { KeptPluginReport } from '../store/plugin-rows.ts';
import type { ConversationRow } from '../store/store.ts';
import type { Schedules } from './schedule-types.ts';
import type { Webhooks } from './webhooks/webhook-types.ts';

/** Where an option names a variable, the variable is its default: see docs/settings.md. */
export interface ConnectOptions {
  /** Address of an HTTP service (`longshore serve`), such as `https://longshore.example`: all calls go there, and the other options but `apiKey` are not used. */
  url?: string;
  /** Its key, `lsk_…`. */
  apiKey?: string;
  /** `TEMPORAL_ADDRESS` */
  temporalAddress?: string;
  /** `TEMPORAL_NAMESPACE` */
  temporalNamespace?: string;
  /** `DATABASE_URL` */
  databaseUrl?: string;
  /** `LONGSHORE_TASK_QUEUE` */
  taskQueue?: string;
  /** A directory of agent files (`LONGSHORE_AGENTS`), or the agents themselves. The workers must know the same agents. */
  agents?: string | Agent[];
  /** Connect to Temporal only when a call needs it. Calls that only read Postgres then work without Temporal. */
  lazy?: boolean;
  /** Default: errors only, to stderr. */
  log?: Logger;
}

export interface StartOptions {
  agent: string;
  user: string;
  /** The first message; without one, the conversation waits for a message. */
  message?: string;
  /** Default `default`. */
  tenant?: string;
  /** No person can approve calls: only tools that read and need no approval are offered and run. */
  unattended?: boolean;
  /** Closes the conversation when it has answered its messages, instead of waiting for more. */
  closeWhenDone?: boolean;
  /**
   * Up to 128 letters, digits, `.`, `_` and `-`; generated when absent. A second start with the same id returns the existing conversation and does not send the
   * message again.
   */
  conversationId?: string;
}

export interface SendOptions {
  /** Makes a repeated send safe: two messages with the same id are one message. Generated when absent. */
  messageId?: string;
  /** Default `queue`. */
  whenBusy?: WhenBusy;
}
export interface SentMessage extends SendMessageResult {
  messageId: string;
}

export interface EventOptions {
  /** Only events after this number; 0 (the default) returns all events. */
  afterSeq?: number;
  /** Ends the iteration. */
  signal?: AbortSignal;
}

export interface ApproveOptions {
  callId: string;
  answer: ApprovalAnswer;
  /** The hash that the person saw. Without it, the answer applies to the call as it is now. */
  hash?: string;
  editedArguments?: JsonObject;
  reason?: string;
  by?: string;
}

export interface ListFilter {
  state?: ConversationState;
  agent?: string;
  user?: string;
  tenant?: string;
  /** Default 50. */
  limit?: number;
}

export interface UsageOptions {
  /** A Date, or a text such as `2027-01-31` or `2027-01-31T09:00:00Z`. Default: 30 days before `to`. */
  from?: string | Date;
  /** The first moment that does not count. Default: now. */
  to?: string | Date;
  /** One line for each. Default `day`. */
  group?: UsageGroup;
  agent?: string;
  user?: string;
  tenant?: string;
  conversation?: string;
  /** Most lines. Default 100. */
  limit?: number;
}

/** The operations on one conversation. Every method may fail with `CONVERSATION_NOT_FOUND`, and with errors of Postgres and Temporal. */
export interface Chat extends AsyncDisposable {
  readonly id: string;
  /** Resolves when the conversation has accepted the message, before the agent answers it. */
  send(text: string, options?: SendOptions): Promise<SentMessage>;
  /** Yields every event as it comes, old ones first; ends when the conversation closes. */
  events(options?: EventOptions): AsyncIterable<ConversationEvent>;
  /**
   * Waits for a turn to end and returns the agent's last text in it. Default: the turn of the message last sent with this object, else the newest turn.
   * Fails with `TURN_FAILED` when the turn does not finish normally.
   */
  reply(turnId?: string): Promise<string>;
  /** Reads Postgres: works while no worker runs. */
  status(): Promise<ConversationStatus>;
  transcript(afterSeq?: number): Promise<StoredEntry[]>;
  pause(options?: PauseArgs): Promise<void>;
  resume(grants?: ResumeArgs): Promise<void>;
  approve(options: ApproveOptions): Promise<ResolveApprovalResult>;
  /** Ends the running turn now; the queued messages are answered next. */
  interrupt(): Promise<void>;
  /** Ends the running turn when its step is done. */
  stopAfterStep(): Promise<void>;
  /** Ends the running turn and drops the queue. */
  cancel(): Promise<void>;
  /** Ends the conversation. Has no effect on a closed one. */
  close(): Promise<void>;
}

/** A plugin of the installation. */
export interface PluginState {
  id: string;
  enabled: boolean;
  /** As it was written: secrets are references, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 means never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was reverted. */
  configProblem?: string;
  /** The permissions that operators granted, in addition to those in agents' files. */
  granted: PermissionBound;
  /** What the workers of each host report about it. */
  reports: KeptPluginReport[];
}

/** Plugins of the installation. Workers apply a change within seconds. A plugin that no worker has reported fails with `PLUGIN_NOT_FOUND`. */
export interface Plugins {
  list(): Promise<PluginState[]>;
  get(id: string): Promise<PluginState>;
  /** Disables a plugin for all agents, or enables it again. */
  enable(id: string, enabled: boolean): Promise<void>;
  /** Loads it again. `id` is its id, or the name that agents give it. */
  reload(id: string): Promise<void>;
  /**
   * Replaces its configuration and returns the new version; with `ifVersion`, only when that is the current version. A configuration that its schema forbids
   * fails with `INVALID_ARGUMENT`; one that a worker cannot use is reverted later, see `configProblem`.
   */
  configure(id: string, config: JsonObject, options?: { ifVersion?: number }): Promise<number>;
  /** Grants permissions to a plugin; `asked` grants all that it asks for now. Returns the permissions that this call granted. */
  grant(id: string, permissions: PermissionBound | 'asked'): Promise<PermissionBound>;
  /** Revokes permissions; without `permissions`, all of them. Returns the permissions that were revoked. */
  revoke(id: string, permissions?: PermissionBound): Promise<PermissionBound>;
}

export interface CreateKeyOptions {
  /** For whom or what it is. */
  name: string;
  /** What it may do. */
  scopes: Scope[];
  /** The only tenant that it sees; without one, it is an operator's key and sees all. */
  tenant?: string;
  /** Milliseconds, or a text such as `90d`; absent: it does not expire. */
  expiresIn?: number | string;
}

export interface RotateKeyOptions {
  /** How long the old key still works: milliseconds, or a text such as `24h` (the default); `0` ends it at once. */
  overlap?: number | string;
  /** Only a key of this tenant. */
  tenant?: string;
}

/** Keys of the HTTP service. */
export interface Keys {
  /** Makes a key. Its `text` is what callers send, and is shown only now. */
  create(options: CreateKeyOptions): Promise<ApiKey & { text: string }>;
  /** Oldest first, with those that have ended; of one tenant when given. */
  list(tenant?: string): Promise<ApiKey[]>;
  /**
   * Makes a key with the name, scopes and tenant of another, which ends after an overlap (at `oldEndsAt`). A key that is unknown or has ended fails with
   * `KEY_NOT_FOUND`.
   */
  rotate(keyId: string, options?: RotateKeyOptions): Promise<ApiKey & { text: string; oldEndsAt: string }>;
  /** Ends a key at once. An unknown one fails with `KEY_NOT_FOUND`. */
  revoke(keyId: string): Promise<ApiKey>;
}

export interface AuditQuery {
  /** The id of who acted: of a key, a user, a conversation. */
  actor?: string;
  action?: string;
  /** The id of what was changed, such as a call, a conversation or a key. */
  target?: string;
  tenant?: string;
  /** Only rows of this time or later: ISO 8601, or an age such as `24h`. */
  since?: string;
  /** Default 50. */
  limit?: number;
  /** The `next` of the page before. */
  cursor?: string;
}

/** Limits for a tenant or a key; what is absent is not limited, or as the defaults have it. */
export interface SetLimitsOptions extends Limits {
  tenant?: string;
  /** Id of a key. */
  key?: string;
}

/** Limits of the HTTP service. */
export interface TenantLimits {
  /** Those that differ from the defaults of the service (`LONGSHORE_LIMITS`). */
  list(): Promise<LimitsOf[]>;
  /** Replaces the limits of a tenant or a key; without any, the defaults hold again. */
  set(options: SetLimitsOptions): Promise<void>;
}

/** Who changed what. Rows are added and never changed. */
export interface AuditLog {
  /** Newest first; `next` is absent on the last page. */
  list(query?: AuditQuery): Promise<{ entries: AuditEntry[]; next?: string }>;
}

/** The same operations for any conversation, by id. Disposing it ends its iterations and connections, never a conversation. */
export interface Longshore extends AsyncDisposable {
  start(options: StartOptions): Promise<Chat>;
  /** Returns a conversation that exists. */
  chat(conversationId: string): Promise<Chat>;
  list(filter?: ListFilter): Promise<ConversationRow[]>;
  send(conversation: string | Chat, text: string, options?: SendOptions): Promise<SentMessage>;
  events(conversation: string | Chat, options?: EventOptions): AsyncIterable<ConversationEvent>;
  reply(conversation: string | Chat, turnId?: string): Promise<string>;
  status(conversation: string | Chat): Promise<ConversationStatus>;
  transcript(conversation: string | Chat, afterSeq?: number): Promise<StoredEntry[]>;
  pause(conversation: string | Chat, options?: PauseArgs): Promise<void>;
  resume(conversation: string | Chat, grants?: ResumeArgs): Promise<void>;
  approve(conversation: string | Chat, options: ApproveOptions): Promise<ResolveApprovalResult>;
  interrupt(conversation: string | Chat): Promise<void>;
  stopAfterStep(conversation: string | Chat): Promise<void>;
  cancel(conversation: string | Chat): Promise<void>;
  close(conversation: string | Chat): Promise<void>;
  /** Tokens and cost of model calls. Each answer that was stored counts once. */
  usage(options?: UsageOptions): Promise<UsageReport>;
  readonly plugins: Plugins;
  readonly keys: Keys;
  readonly audit: AuditLog;
  readonly limits: TenantLimits;
  readonly schedules: Schedules;
  readonly webhooks: Webhooks;
}
