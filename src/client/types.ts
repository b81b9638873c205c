import type { CompactArgs, StoredEntry } from '../contracts/transcript.ts';
import type { z } from 'zod';
import type { Agent } from '../contracts/agent.ts';
import type {
  ApprovalAnswer,
  ConversationState,
  ConversationStatus,
  PauseArgs,
  ResolveApprovalResult,
  ResumeArgs,
  RevokeAllowedToolArgs,
  RevokeAllowedToolResult,
  SendMessageResult,
  WhenBusy,
} from '../contracts/conversation.ts';
import type { CheckpointCalls, ChatCheckpoints } from '../contracts/checkpoints/checkpoint.ts';
import type { ChatForks, ForkCalls } from '../contracts/forks/fork.ts';
import type { ImportCalls } from '../contracts/imports/import.ts';
import type { ChatDiff, DiffCalls } from '../contracts/checkpoints/diff.ts';
import type { ConversationEvent } from '../contracts/events.ts';
import type { ChatExport, ExportCalls } from './export/export-types.ts';
import type { TreeEvent, TreeOptions } from './events/read-tree.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { UsageReport } from '../contracts/usage.ts';
import type { Logger } from '../platform/log.ts';
import type { ConversationRow } from '../store/store.ts';
import type { AttachmentCalls, AttachmentOptions, ChatAttachments } from './attachments/attachment-types.ts';
import type { ChatTools, ClientTools, RequestedClientTools } from './client-tools/client-tool-types.ts';
import type { RequestedTools } from './client-tools/requested-tools.ts';
import type { OutputSchema } from './types/output-schema.ts';
import type { AuditLog, Keys, Plugins, TenantLimits, UsageOptions } from './types/installation-types.ts';
import type { Memory } from './memory/memory-types.ts';
import type { Schedules } from './types/schedule-types.ts';
import type { Webhooks } from './webhooks/webhook-types.ts';

/** Where an option names a variable, the variable is its default: see docs/settings.md. */
export interface ConnectOptions {
  /** Address of an HTTP service (`longshore serve`), such as `https://longshore.example`: all calls go there, and the other options but `apiKey` are not used. */
  url?: string | undefined;
  /** Its key, `lsk_…`. */
  apiKey?: string | undefined;
  /** `TEMPORAL_ADDRESS` */
  temporalAddress?: string | undefined;
  /** `TEMPORAL_NAMESPACE` */
  temporalNamespace?: string | undefined;
  /** `DATABASE_URL` */
  databaseUrl?: string | undefined;
  /** `LONGSHORE_TASK_QUEUE` */
  taskQueue?: string | undefined;
  /** A directory of agent files (`LONGSHORE_AGENTS`), or the agents themselves. The workers must know the same agents. */
  agents?: string | Agent[] | undefined;
  /** Connect to Temporal only when a call needs it. Calls that only read Postgres then work without Temporal. */
  lazy?: boolean | undefined;
  /** Default: errors only, to stderr. */
  log?: Logger | undefined;
}

export interface StartOptions extends AttachmentOptions {
  agent: string;
  user: string;
  /** The first message; without one, the conversation waits for a message. */
  message?: string | undefined;
  /** What the answer to the first message has to fit, in place of the `output` of the agent. */
  output?: OutputSchema | undefined;
  /**
   * More tools that clients run, where the agent takes them from requests (`clientToolsFromRequests`). They hold until a message declares others. Fails with
   * `CLIENT_TOOLS_REFUSED`.
   */
  clientTools?: RequestedClientTools | undefined;
  /** Default `default`. */
  tenant?: string | undefined;
  /** No person can approve calls: only tools that read and need no approval are offered and run, and what a judge allows. */
  unattended?: boolean | undefined;
  /** Closes the conversation when it has answered its messages, instead of waiting for more. */
  closeWhenDone?: boolean | undefined;
  /**
   * Up to 128 letters, digits, `.`, `_` and `-`; generated when absent. A second start with the same id returns the existing conversation and does not send the
   * message again.
   */
  conversationId?: string | undefined;
}

export interface SendOptions extends AttachmentOptions {
  /** Makes a repeated send safe: two messages with the same id are one message. Generated when absent. */
  messageId?: string | undefined;
  /** Default `queue`. */
  whenBusy?: WhenBusy | undefined;
  /** What the answer has to fit, in place of the `output` of the agent. A message that joins a turn gives it to that turn. Fails with `OUTPUT_INVALID`. */
  output?: OutputSchema | undefined;
  /** Tools that clients run from this message on, in place of those that were declared before; `{}` for none. As for `start`. */
  clientTools?: RequestedClientTools | undefined;
}
/** The same, after its arguments were read. */
export type SendRequest = Omit<SendOptions, 'output' | 'clientTools'> & { output?: JsonObject; clientTools?: RequestedTools };
export interface SentMessage extends SendMessageResult {
  messageId: string;
}

export interface EventOptions {
  /** Only events after this number; 0 (the default) returns all events. */
  afterSeq?: number | undefined;
  /** Ends the iteration. */
  signal?: AbortSignal | undefined;
}

export interface ApproveOptions {
  callId: string;
  answer: ApprovalAnswer;
  /** The hash that the person saw. Without it, the answer applies to the call as it is now. */
  hash?: string | undefined;
  editedArguments?: JsonObject | undefined;
  reason?: string | undefined;
  by?: string | undefined;
}

/** `by`: who revokes; shown in the events. */
export type RevokeOptions = Pick<RevokeAllowedToolArgs, 'by'>;

export interface ListFilter {
  state?: ConversationState | undefined;
  agent?: string | undefined;
  user?: string | undefined;
  tenant?: string | undefined;
  /** Only forks of this conversation. */
  forkedFrom?: string | undefined;
  /** Default 50. */
  limit?: number | undefined;
}

/** The operations on one conversation. Every method may fail with `CONVERSATION_NOT_FOUND`, and with errors of Postgres and Temporal. */
export interface Chat extends AsyncDisposable, ChatAttachments, ChatCheckpoints, ChatDiff, ChatExport, ChatForks<Chat>, ChatTools {
  readonly id: string;
  /** Resolves when the conversation has accepted the message, before the agent answers it. */
  send(text: string, options?: SendOptions): Promise<SentMessage>;
  /** Yields every event as it comes, old ones first; ends when the conversation closes. */
  events(options?: EventOptions): AsyncIterable<ConversationEvent>;
  /** As `events`, with those of all sub-agents; ends when all of them are closed, too. */
  treeEvents(options?: TreeOptions): AsyncIterable<TreeEvent>;
  /**
   * Waits for a turn to end and returns the agent's last text in it. Default: the turn of the message last sent with this object, else the newest turn.
   * Fails with `TURN_FAILED` when the turn does not finish normally.
   */
  reply(turnId?: string): Promise<string>;
  /**
   * Waits as `reply` does, and returns the answer as a value: one that fits the `output` of the message or the agent, as the schema of zod gives it when there
   * is one. Fails with `TURN_FAILED` when the turn does not finish normally, and with `ANSWER_INVALID` when no such answer was asked for or the schema refuses
   * it.
   */
  answer<Value = Json>(schema?: z.ZodType<Value>, turnId?: string): Promise<Value>;
  /** Reads Postgres: works while no worker runs. */
  status(): Promise<ConversationStatus>;
  transcript(afterSeq?: number): Promise<StoredEntry[]>;
  pause(options?: PauseArgs): Promise<void>;
  resume(grants?: ResumeArgs): Promise<void>;
  approve(options: ApproveOptions): Promise<ResolveApprovalResult>;
  /** Takes back that a tool is allowed for the rest of the conversation (`allowedTools` of the status): calls about which is decided from now on ask again. */
  revokeAllowed(tool: string, options?: RevokeOptions): Promise<RevokeAllowedToolResult>;
  /** Ends the running turn now; the queued messages are answered next. */
  interrupt(): Promise<void>;
  /** Leaves all but the newest turn out of the prompts, or takes the newest such change back. The events `context.compacted` and `context.restored` follow. */
  compact(options?: CompactArgs): Promise<void>;
  /** Ends the running turn when its step is done. */
  stopAfterStep(): Promise<void>;
  /** Ends the running turn and drops the queue. */
  cancel(): Promise<void>;
  /** Ends the conversation. Has no effect on a closed one. */
  close(): Promise<void>;
}

/** The same operations for any conversation, by id. Disposing it ends its iterations and connections, never a conversation; calls then fail with `CLIENT_CLOSED`. */
export interface Longshore
  extends
    AsyncDisposable,
    AttachmentCalls<string | Chat>,
    CheckpointCalls,
    DiffCalls,
    ExportCalls,
    ForkCalls<Chat>,
    ImportCalls<Chat>,
    ClientTools<string | Chat> {
  start(options: StartOptions): Promise<Chat>;
  /** Returns a conversation that exists. */
  chat(conversationId: string): Promise<Chat>;
  list(filter?: ListFilter): Promise<ConversationRow[]>;
  send(conversation: string | Chat, text: string, options?: SendOptions): Promise<SentMessage>;
  events(conversation: string | Chat, options?: EventOptions): AsyncIterable<ConversationEvent>;
  treeEvents(conversation: string | Chat, options?: TreeOptions): AsyncIterable<TreeEvent>;
  reply(conversation: string | Chat, turnId?: string): Promise<string>;
  answer<Value = Json>(conversation: string | Chat, schema?: z.ZodType<Value>, turnId?: string): Promise<Value>;
  status(conversation: string | Chat): Promise<ConversationStatus>;
  transcript(conversation: string | Chat, afterSeq?: number): Promise<StoredEntry[]>;
  pause(conversation: string | Chat, options?: PauseArgs): Promise<void>;
  resume(conversation: string | Chat, grants?: ResumeArgs): Promise<void>;
  approve(conversation: string | Chat, options: ApproveOptions): Promise<ResolveApprovalResult>;
  revokeAllowed(conversation: string | Chat, tool: string, options?: RevokeOptions): Promise<RevokeAllowedToolResult>;
  interrupt(conversation: string | Chat): Promise<void>;
  compact(conversation: string | Chat, options?: CompactArgs): Promise<void>;
  stopAfterStep(conversation: string | Chat): Promise<void>;
  cancel(conversation: string | Chat): Promise<void>;
  close(conversation: string | Chat): Promise<void>;
  /** Tokens and cost of model calls. Each answer that was stored counts once. */
  usage(options?: UsageOptions): Promise<UsageReport>;
  readonly plugins: Plugins;
  readonly keys: Keys;
  readonly audit: AuditLog;
  readonly limits: TenantLimits;
  readonly memory: Memory;
  readonly schedules: Schedules;
  readonly webhooks: Webhooks;
}
