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
import type { StoredEntry } from '../contracts/transcript.ts';
import type { Logger } from '../platform/log.ts';
import type { KeptPluginReport } from '../store/plugin-rows.ts';
import type { ConversationRow } from '../store/store.ts';
import type { Schedules } from './schedule-types.ts';

/** Everything has a default from the environment: docs/settings.md lists the variables. */
export interface ConnectOptions {
  /** `TEMPORAL_ADDRESS` */
  temporalAddress?: string;
  /** `TEMPORAL_NAMESPACE` */
  temporalNamespace?: string;
  /** `DATABASE_URL` */
  databaseUrl?: string;
  /** `LONGSHORE_TASK_QUEUE` */
  taskQueue?: string;
  /** A directory of agent files (`LONGSHORE_AGENTS`), or the agents themselves. The workers must know the same ones. */
  agents?: string | Agent[];
  /** Leave Temporal alone until a call needs it; what is only read from Postgres then works without it. */
  lazy?: boolean;
  /** Errors only, to stderr, by default. */
  log?: Logger;
}

export interface StartOptions {
  agent: string;
  user: string;
  /** The first message; without one the conversation waits. */
  message?: string;
  /** Default `default`. */
  tenant?: string;
  /** Nobody will be there to approve anything: only tools that read and need no approval are offered and run. */
  unattended?: boolean;
  /** Closes the conversation when it has answered what it was sent, instead of waiting for more. */
  closeWhenDone?: boolean;
  /** Up to 128 letters, digits, `.`, `_` and `-`; made when absent. Starting an id a second time gives the conversation that runs; the message is not sent again. */
  conversationId?: string;
}

export interface SendOptions {
  /** Makes a repeated send safe: the same id twice is one message. Made when absent. */
  messageId?: string;
  /** Default `queue`. */
  whenBusy?: WhenBusy;
}
export interface SentMessage extends SendMessageResult {
  messageId: string;
}

export interface EventOptions {
  /** Events after this one; 0 (the default) gives them all. */
  afterSeq?: number;
  /** Ends the iteration. */
  signal?: AbortSignal;
}

export interface ApproveOptions {
  callId: string;
  answer: ApprovalAnswer;
  /** The hash that the person was shown. Without it, whatever the call is now is answered. */
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

/** What can be done with one conversation. Every method may fail with `CONVERSATION_NOT_FOUND`, and with what its services raise. */
export interface Chat extends AsyncDisposable {
  readonly id: string;
  /** Resolves when the conversation has taken the message, long before it is answered. */
  send(text: string, options?: SendOptions): Promise<SentMessage>;
  /** Every event as it comes, old ones first; ends when the conversation closes. */
  events(options?: EventOptions): AsyncIterable<ConversationEvent>;
  /** Waits for a turn to end (by default that of the message last sent with this object, else the newest) and gives what the agent said last in it. A turn that ends badly is a `TURN_FAILED`. */
  reply(turnId?: string): Promise<string>;
  /** From Postgres: works while no worker runs. */
  status(): Promise<ConversationStatus>;
  transcript(afterSeq?: number): Promise<StoredEntry[]>;
  pause(options?: PauseArgs): Promise<void>;
  resume(grants?: ResumeArgs): Promise<void>;
  approve(options: ApproveOptions): Promise<ResolveApprovalResult>;
  /** Ends the running turn now; the queue goes on. */
  interrupt(): Promise<void>;
  /** Ends the running turn when its step is done. */
  stopAfterStep(): Promise<void>;
  /** Ends the running turn and drops the queue. */
  cancel(): Promise<void>;
  /** Ends the conversation; a closed one stays closed. */
  close(): Promise<void>;
}

/** A plugin of the installation. */
export interface PluginState {
  id: string;
  enabled: boolean;
  /** As it was written: secrets are references, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 was never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was taken back. */
  configProblem?: string;
  /** What operators granted it, besides what agents' files do. */
  granted: PermissionBound;
  /** What the workers of each host say of it. */
  reports: KeptPluginReport[];
}

/** Plugins of the installation. Workers follow a change within seconds. A plugin that no worker has told of is a `PLUGIN_NOT_FOUND`. */
export interface Plugins {
  list(): Promise<PluginState[]>;
  get(id: string): Promise<PluginState>;
  /** Takes a plugin away from all agents, or gives it back. */
  enable(id: string, enabled: boolean): Promise<void>;
  /** Loads it again, by its id or by the name that agents give it. */
  reload(id: string): Promise<void>;
  /**
   * Replaces its configuration and gives the new version; with `ifVersion` only over that one. What its schema does not take is an `INVALID_ARGUMENT`;
   * what a worker cannot work with is taken back later, see `configProblem`.
   */
  configure(id: string, config: JsonObject, options?: { ifVersion?: number }): Promise<number>;
  /** Grants permissions to a plugin, `asked`: all that it asks for now. Gives what was granted by this. */
  grant(id: string, permissions: PermissionBound | 'asked'): Promise<PermissionBound>;
  /** Takes grants away, all of them without `permissions`. Gives what was taken away. */
  revoke(id: string, permissions?: PermissionBound): Promise<PermissionBound>;
}

/** The same for any conversation, by id. Disposing it ends its iterations and connections, never a conversation. */
export interface Longshore extends AsyncDisposable {
  start(options: StartOptions): Promise<Chat>;
  /** A conversation that exists. */
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
  readonly plugins: Plugins;
  readonly schedules: Schedules;
}
