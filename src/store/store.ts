import type { AuditSource } from '../contracts/audit.ts';
import type { PermissionBound } from '../contracts/agent.ts';
import type { ConversationState, ConversationStatus } from '../contracts/conversation.ts';
import type { ConversationEvent, EventData, EventType } from '../contracts/events.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { SandboxSample } from '../contracts/host-facts.ts';
import type { BackupRows } from './blobs/backups.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import type { CompactionRows } from './compactions.ts';
import type { ClientTools } from '../contracts/client-tool.ts';
import type { StoredMedia } from '../contracts/attachments/media.ts';
import type { MessageParts, StoredMessage } from './conversation/message-parts.ts';
import type { Answer, CutOff, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';
import type { RowsOfConversations } from './conversation/rows-of-conversations.ts';
import type { ServiceRows } from './service/service-rows.ts';
import type { Pools } from './pools.ts';
import type { KeptPluginReport, PluginReport, PluginSettings, PluginShelf } from './plugin-rows.ts';
import type { MemoryRows } from './memory/memory.ts';
import type { SignInRows } from './sign-ins/sign-ins.ts';
import type { CallResult, ClaimResult, NewMethodCall, NewToolCall, ToolCallRow } from './tool-call-rows.ts';
import type { SandboxPlace, SandboxRows, SandboxState, SandboxTotals } from './sandbox-rows.ts';
import type { SnapshotRows } from './snapshots.ts';

/** An event to append; the store adds `seq`, `at` and the conversation. */
export interface NewEvent {
  type: EventType;
  turnId?: string;
  stepId?: string;
  attempt?: number;
  data: JsonObject;
  /** A conversation has at most one event with a key: `append` and `saveStatus` skip events whose key is in the log. */
  key?: string;
}

export interface ConversationRow {
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  state: ConversationState;
  status: ConversationStatus;
  createdAt: string;
  updatedAt: string;
}

/** What a round over all that are open needs of each. */
export interface OpenConversation {
  conversationId: string;
  agentId: string;
  /** As its workflow saved it last: without what other tables say of calls, usage and the sandbox. */
  status: ConversationStatus;
  /** Milliseconds since then. */
  untouchedMs: number;
}

export interface ConversationFilter {
  state?: ConversationState;
  agentId?: string;
  userId?: string;
  tenantId?: string;
  /** Only forks of this conversation. */
  forkedFrom?: string;
  /** Only those with calls that wait for a person. */
  hasApprovals?: true;
  olderThan?: string;
  limit: number;
}

export interface EventPage {
  /** Default 500. */
  limit?: number;
  /** Bytes of data that fill the page; the event that exceeds them is its last. Default 4 MiB. */
  bytes?: number;
}

export interface TemporalNamespace {
  name: string;
  /** The server's own id; a namespace of the same name on another server has another id. Absent when it is not known. */
  id?: string;
}

export interface Store extends RowsOfConversations, ServiceRows {
  conversations: {
    /** Inserts the row and the `conversation.started` event; keeps the row that exists with the id. Returns whether it was inserted. @throws CONVERSATION_REMOVING */
    create(row: Omit<ConversationRow, 'createdAt' | 'updatedAt'>): Promise<boolean>;
    get(conversationId: string): Promise<ConversationRow | undefined>;
    /** Its state alone, which costs much less than the row. */
    stateOf(conversationId: string): Promise<ConversationState | undefined>;
    /** Newest first. `olderThan`: the id of a conversation, such as the last of the page before. */
    list(filter: ConversationFilter): Promise<ConversationRow[]>;
    /** Conversations that are not closed and whose id comes after `afterId`, in the order of their ids. */
    listOpen(page: { afterId: string; limit: number }): Promise<OpenConversation[]>;
    /** Bytes of JSON that its transcript, calls and events use; 0 for an unknown conversation. */
    storedBytes(conversationId: string): Promise<number>;
    /** Bytes of all conversations. */
    totalBytes(): Promise<number>;
    /**
     * Removes stored details of calls from some conversations that were closed so many days ago: streamed output, arguments, values and results. Messages are
     * kept. Returns the number of these conversations.
     */
    compact(closedForDays: number, limit: number): Promise<number>;
    /** Closes a conversation in place of its workflow, with a `conversation.closed` event. Returns false when it was already closed. */
    close(conversationId: string, data: JsonObject): Promise<boolean>;
    /** Replaces the status and appends events, in one transaction. When all its events are in the log, the status is not replaced: later ones may have been saved. */
    saveStatus(status: ConversationStatus, events: NewEvent[]): Promise<void>;
    /**
     * Adds a message of the user to the transcript (key = message id) and appends its events, which have keys, in one transaction. Replaces the status, too:
     * `always`, or only `with-events`, when the events are new, since a later status may have been saved after them. @throws CONVERSATION_NOT_FOUND
     */
    acceptMessage(message: {
      turnId: string;
      messageId: string;
      text: string;
      attachments: StoredMedia[];
      clientTools: ClientTools | undefined;
      events: NewEvent[];
      status: ConversationStatus;
      replaces: 'always' | 'with-events';
    }): Promise<void>;
  };
  messages: {
    /**
     * Stores a client's message, and the JSON Schema that the answer to it has to fit; two messages with the same id are one message (the first is kept).
     * Returns whether it was new.
     */
    put(conversationId: string, messageId: string, text: string, more?: MessageParts): Promise<boolean>;
    get(conversationId: string, messageId: string): Promise<string | undefined>;
    /** Its text, and what it has besides. */
    read(conversationId: string, messageId: string): Promise<StoredMessage | undefined>;
    outputOf(conversationId: string, messageId: string): Promise<JsonObject | undefined>;
  };
  transcript: {
    /** Idempotent by `key`: the same key of one conversation is stored once. Returns whether it was new. */
    append(conversationId: string, turnId: string, stepId: string | undefined, key: string, entry: TranscriptEntry): Promise<boolean>;
    /**
     * Stores the model's answer of a step (key = step id), what its call used, and events, in one transaction. Returns false when the step has an answer, or the
     * turn has ended, which the event with `endKey` says: then none of them is stored.
     */
    addAnswer(
      place: { conversationId: string; turnId: string; stepId: string; endKey?: string },
      entry: Answer,
      model: string,
      events?: NewEvent[],
    ): Promise<boolean>;
    /** Puts another content into a message of the user that no answer follows. May be repeated. */
    replaceMessage(conversationId: string, seq: number, entry: TranscriptEntry & { role: 'user' }): Promise<void>;
    /** In order, with those that a rewind has taken back; of a number of entries at most, when given. */
    readAll(conversationId: string, afterSeq?: number, limit?: number): Promise<StoredEntry[]>;
    /** The tools of clients that the newest message with such tools declares; undefined when none does. */
    clientTools(conversationId: string): Promise<ClientTools | undefined>;
    /** What is part of the conversation, in order. */
    read(conversationId: string, afterSeq?: number, limit?: number): Promise<StoredEntry[]>;
    /** The same, of a conversation that this process goes on with: what it read before stays in its memory, and only newer entries are read. They cannot be changed. */
    current(conversationId: string): Promise<StoredEntry[]>;
    /** The model's answer of a step. */
    answerOf(conversationId: string, stepId: string): Promise<Answer | undefined>;
    /** The last text of the agent in a turn, empty when it wrote none, and whether its last answer is not whole. */
    lastSaid(conversationId: string, turnId: string): Promise<{ text: string; cutOff?: CutOff }>;
    /** The newest entry that is part of the conversation. */
    last(conversationId: string): Promise<StoredEntry | undefined>;
    /** The newest message of the user in a turn. */
    messageOf(conversationId: string, turnId: string): Promise<StoredEntry | undefined>;
    /** The turn that answers a message of the user, or has. */
    turnOf(conversationId: string, messageId: string): Promise<string | undefined>;
    /** The turn of its newest entry; undefined when it has none. */
    newestTurn(conversationId: string): Promise<string | undefined>;
  };
  compactions: CompactionRows;
  toolCalls: {
    /** Inserts calls of a step; existing calls are not changed. */
    propose(calls: NewToolCall[]): Promise<void>;
    /**
     * Inserts a call of code in a sandbox, the `number`-th of its exec, with its events; an existing call is not changed. False when it is new, and the
     * conversation has stored `storageLimit` bytes or more.
     * @throws SANDBOX_SUPERSEDED when the container from which it comes may not act any more
     */
    proposeMethod(call: NewMethodCall, events: NewEvent[], storageLimit?: number): Promise<boolean>;
    /** As `proposeMethod` and `claim`, in one round trip for a new call; `missing` when there is no room for it. */
    claimMethod(call: NewMethodCall, events: { requested: NewEvent[]; started: NewEvent[] }, storageLimit?: number): Promise<ClaimResult>;
    /** Inserts a call of code together with its result. `exists`: there is such a call, which is not changed; `missing`: there is no room for it. */
    recordMethod(call: NewMethodCall, result: CallResult, events: NewEvent[], storageLimit?: number): Promise<'recorded' | 'exists' | 'missing'>;
    get(callId: string): Promise<ToolCallRow | undefined>;
    ofStep(conversationId: string, stepId: string): Promise<ToolCallRow[]>;
    /** The calls that the code of a call has made and that have no result, in their order. */
    openOfCode(call: Pick<ToolCallRow, 'conversationId' | 'stepId' | 'callId'>): Promise<Pick<ToolCallRow, 'callId' | 'tool' | 'state'>[]>;
    /** The calls of a conversation that have no result; those of code come before those of the model. */
    openOf(conversationId: string): Promise<Pick<ToolCallRow, 'callId' | 'tool' | 'state' | 'turnId' | 'stepId'>[]>;
    /** Claims a call for running, bound to its hash. `events` (such as `tool.started`) are appended in the same transaction, with the first claim only. */
    claim(callId: string, hash: string, events?: NewEvent[]): Promise<ClaimResult>;
    /** The same, unless the sandbox in which the conversation works is on another host: then undefined. */
    claimOn(hostId: string, callId: string, hash: string, events?: NewEvent[]): Promise<ClaimResult | undefined>;
    /**
     * Stores the result, its transcript entry (key = call id; none for a call of code) and events in one transaction, if `fence` is still the newest (any fence
     * when undefined), the call has no result yet, and the sandbox `from` which the result comes has not lost the files of that container. Returns false otherwise.
     */
    settle(callId: string, fence: number | undefined, result: CallResult, events: NewEvent[], from?: SandboxPlace): Promise<boolean>;
    /** Replaces arguments and hash of a call that has not started. Returns false when it has. */
    edit(callId: string, argumentsEdited: JsonObject, hash: string): Promise<boolean>;
  };
  events: {
    append(conversationId: string, events: NewEvent[]): Promise<void>;
    /** The same for a model call. Returns false, and appends nothing, when its step has an answer, or its turn has ended, which the event with `endKey` says. */
    appendOpen(place: { conversationId: string; stepId: string; endKey: string }, events: NewEvent[]): Promise<boolean>;
    /** A page of the events after `afterSeq`: up to `limit` (default 500) events, and fewer when they are large. Empty only at the end. */
    read(conversationId: string, afterSeq: number, page?: EventPage): Promise<ConversationEvent[]>;
    /**
     * Yields when there may be events to read: at once, and then whenever the conversation has new ones, until `signal` aborts or the store closes. While
     * nothing happens, all followers of a store together cost one query every two seconds.
     */
    news(conversationId: string, signal: AbortSignal): AsyncIterable<void>;
    /** Number of the event that started a turn; 0 when it has not started. With it, a reader of one turn skips the conversation before it. */
    turnStart(conversationId: string, turnId: string): Promise<number>;
    /** Number of an event before the one that ends a turn, as near to it as is known now; undefined when no such turn has started, and none can start. */
    beforeEnd(conversationId: string, turnId: string): Promise<number | undefined>;
    /** Numbers of the events that began messages of users, which did not join a turn, and turns of the agent; newest first, before event `before`. */
    messageStarts(conversationId: string, page: { before?: number; limit: number }): Promise<number[]>;
    /** How the newest ended turn ended; undefined before a turn has ended. */
    lastTurn(conversationId: string): Promise<EventData['turn.finished'] | undefined>;
    /** Bytes of each stream of a call that its `tool.output` events contain. */
    toldOutput(conversationId: string, callId: string): Promise<{ stdout: number; stderr: number }>;
    /** The indexes of the `message.sent` events of a call. */
    sentBy(conversationId: string, callId: string): Promise<number[]>;
    /** Yields events after `afterSeq` as they come, without end, until `signal` aborts. Survives a lost database connection. */
    follow(conversationId: string, afterSeq: number, signal: AbortSignal): AsyncIterable<ConversationEvent>;
  };
  sandboxes: SandboxRows;
  /** Keys and JSON values of plugins; expired entries count as absent. */
  pluginStore: {
    entry(shelf: PluginShelf, key: string): Promise<{ value: Json; version: number } | undefined>;
    /**
     * With `ifVersion`, only if that is the current version (0: only if there is no entry).
     * @throws PLUGIN_STORE_REFUSED for keys and values that are too large or too many.
     */
    set(shelf: PluginShelf, key: string, value: Json, options?: { ttlMs?: number; ifVersion?: number }): Promise<'created' | 'updated' | 'conflict'>;
    delete(shelf: PluginShelf, key: string): Promise<boolean>;
    /** Keys that begin with the prefix, sorted by their code points. */
    list(shelf: PluginShelf, prefix: string): Promise<string[]>;
    /** Removes expired entries. */
    sweep(): Promise<void>;
  };
  temporalHome: {
    /** Returns the Temporal namespace that owns the database; claims it for this one if it had none. */
    claim(namespace: TemporalNamespace): Promise<TemporalNamespace>;
    /** Changes the owner to another namespace. */
    move(namespace: TemporalNamespace): Promise<void>;
  };
  pools: Pools;
  memory: MemoryRows;
  /** Where users are signed in at MCP servers. */
  signIns: SignInRows;
  snapshots: SnapshotRows;
  /** Resources that sandboxes used, kept for a day. */
  samples: {
    /** Skips sandboxes that were measured within `apartMs`, and removes samples that are older than a day. */
    add(samples: SandboxSample[], options: { apartMs: number }): Promise<void>;
    /** `cpus`: processors in use since the previous sample, absent in the first one. */
    newest(sandboxId: string): Promise<(Omit<SandboxSample, 'sandboxId' | 'cpuMs'> & { at: string; cpus?: number }) | undefined>;
    /** Milliseconds that a sandbox has spent in each state, up to now. */
    stateTimes(sandboxId: string): Promise<Partial<Record<SandboxState, number>>>;
    /**
     * Totals of the sandboxes that are not destroyed, by state and template (empty: none). Usage is that of the last two minutes; for resting sandboxes, their
     * disk.
     */
    totals(): Promise<SandboxTotals[]>;
  };
  /** Where archives and backups are kept. */
  blobs: BlobStore;
  backups: BackupRows;
  /** Plugins: what operators set, and what the workers report. */
  plugins: {
    /** Settings of the plugins that have any. */
    settings(): Promise<PluginSettings[]>;
    enable(pluginId: string, enabled: boolean, by: AuditSource): Promise<PluginSettings>;
    /** Replaces the configuration; with `ifVersion`, only if that is the current version. Undefined when it is not. */
    configure(pluginId: string, config: JsonObject, by: AuditSource, ifVersion?: number): Promise<PluginSettings | undefined>;
    /**
     * Restores the configuration before `version`, under a new version, if `version` is still the newest. A configuration that was restored is not reverted
     * again.
     */
    takeBackConfig(pluginId: string, version: number, problem: string): Promise<void>;
    reload(pluginId: string, by: AuditSource): Promise<PluginSettings>;
    /** Adds to the permissions that operators granted. */
    grant(pluginId: string, permissions: PermissionBound, by: AuditSource): Promise<PluginSettings>;
    /** Revokes exactly these values. */
    revoke(pluginId: string, permissions: PermissionBound, by: AuditSource): Promise<PluginSettings>;
    report(hostId: string, report: PluginReport): Promise<void>;
    /** Keeps a host's reports from being treated as those of an absent host; has to be called again within a minute. */
    stillHere(hostId: string): Promise<void>;
    /** Removes a host's reports except those of these names, and all reports of hosts that have not reported for a week. */
    forget(hostId: string, names: string[]): Promise<void>;
    reports(): Promise<KeptPluginReport[]>;
    /** Yields at once, and then whenever the settings may have changed, until `signal` aborts or the store closes. */
    follow(signal: AbortSignal): AsyncIterable<void>;
  };
  /** Makes the database ready for `asTenant`. @throws CONFIG_INVALID with what an administrator of the database has to do */
  prepareTenants(): Promise<void>;
  /** True when the database answers. */
  ping(): Promise<boolean>;
  [Symbol.asyncDispose](): Promise<void>;
}
