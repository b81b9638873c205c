import type { PermissionBound } from '../contracts/agent.ts';
import type { ConversationState, ConversationStatus } from '../contracts/conversation.ts';
import type { ConversationEvent, EventData, EventType } from '../contracts/events.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { SandboxSample } from '../contracts/host-facts.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import type { ContentPart, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';
import type { KeptPluginReport, PluginReport, PluginSettings, PluginShelf } from './plugin-rows.ts';
import type { SandboxChange, SandboxRow, SandboxState, SandboxTotals, SnapshotFilter, SnapshotRow } from './sandbox-rows.ts';

/** What an append gives; the store adds `seq`, `at` and the conversation. */
export interface NewEvent {
  type: EventType;
  turnId?: string;
  stepId?: string;
  attempt?: number;
  data: JsonObject;
  /** Of the same key a conversation has one event: `append` and `saveStatus` leave out those that are in the log. */
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

/** `proposed`: known, not started. `running`: claimed, may have had an effect. The rest are final. */
export type ToolCallState = 'proposed' | 'running' | 'finished' | 'failed' | 'denied' | 'interrupted' | 'unknown';

export interface ToolCallRow {
  callId: string;
  conversationId: string;
  turnId: string;
  stepId: string;
  tool: string;
  arguments: JsonObject;
  hash: string;
  state: ToolCallState;
  /** Grows with every claim; only the newest claimant may write the result. */
  fence: number;
  content?: ContentPart[];
  isError: boolean;
  requestedAt: string;
  startedAt?: string;
  finishedAt?: string;
  /** The call whose code made this one; absent for those of the model. */
  parentCallId?: string;
  /** What that code is given. */
  value?: Json;
}
export type NewToolCall = Pick<ToolCallRow, 'callId' | 'conversationId' | 'turnId' | 'stepId' | 'tool' | 'arguments' | 'hash'>;
/** The `number`-th call of an exec's code. */
export type NewMethodCall = NewToolCall & { number: number; parentCallId: string };

/**
 * What a claim found. `claimed`: run it; `attempt` above 1 means that an earlier claimant may have had an effect.
 * `settled`: it has its result. `mismatch`: the same id was used for another call.
 */
export type ClaimResult =
  | { outcome: 'claimed'; fence: number; attempt: number; call: ToolCallRow }
  | { outcome: 'settled'; call: ToolCallRow }
  | { outcome: 'mismatch'; call: ToolCallRow }
  | { outcome: 'missing' };

export interface CallResult {
  state: Exclude<ToolCallState, 'proposed' | 'running'>;
  content: ContentPart[];
  isError: boolean;
  /** For a call of code, what it is given. */
  value?: Json;
}

export interface TemporalNamespace {
  name: string;
  /** The server's own; another server's namespace of the same name has another one. Absent when it is not known. */
  id?: string;
}

export interface Store {
  conversations: {
    /** Inserts the row and the `conversation.started` event; does nothing when the id exists. */
    create(row: Omit<ConversationRow, 'createdAt' | 'updatedAt'>): Promise<void>;
    get(conversationId: string): Promise<ConversationRow | undefined>;
    /** Newest first. */
    list(filter: { state?: ConversationState; agentId?: string; userId?: string; tenantId?: string; limit: number }): Promise<ConversationRow[]>;
    /** Conversations that are not closed and whose id comes after `afterId`, in the order of their ids. `untouchedMs`: milliseconds since their last status. */
    listOpen(page: { afterId: string; limit: number }): Promise<(ConversationRow & { untouchedMs: number })[]>;
    /** Bytes of JSON that its transcript, calls and events take up; 0 for one that is not known. */
    storedBytes(conversationId: string): Promise<number>;
    /** Of all conversations. */
    totalBytes(): Promise<number>;
    /**
     * Removes what calls and their output of some conversations take up that were closed so many days ago: streamed pieces, arguments, values and results. What was said
     * stays. Returns how many there were.
     */
    compact(closedForDays: number, limit: number): Promise<number>;
    /** Closes a conversation in its workflow's stead, with a `conversation.closed` event. Returns false when it was closed before. */
    close(conversationId: string, data: JsonObject): Promise<boolean>;
    /** Replaces the status and appends events, in one transaction. */
    saveStatus(status: ConversationStatus, events: NewEvent[]): Promise<void>;
  };
  messages: {
    /** Keeps a client's message; the same id twice is one message (the first text stays). */
    put(conversationId: string, messageId: string, text: string): Promise<void>;
    get(conversationId: string, messageId: string): Promise<string | undefined>;
  };
  transcript: {
    /** Idempotent by `key`: the same key of one conversation is stored once. Returns whether it was new. */
    append(conversationId: string, turnId: string, stepId: string | undefined, key: string, entry: TranscriptEntry): Promise<boolean>;
    read(conversationId: string, afterSeq?: number): Promise<StoredEntry[]>;
    /** The newest message of the user in a turn. */
    messageOf(conversationId: string, turnId: string): Promise<StoredEntry | undefined>;
  };
  toolCalls: {
    /** Inserts calls of a step; those that exist stay as they are. */
    propose(calls: NewToolCall[]): Promise<void>;
    /**
     * Inserts a call of code in a sandbox, the `number`-th of its exec, with its events; one that exists stays as it is. False when it is new, and the
     * conversation has stored `storageLimit` bytes or more.
     */
    proposeMethod(call: NewMethodCall, events: NewEvent[], storageLimit?: number): Promise<boolean>;
    /** As `proposeMethod` and `claim`, in one round trip for a call that is new; `missing` when there is no room for it. */
    claimMethod(call: NewMethodCall, events: { requested: NewEvent[]; started: NewEvent[] }, storageLimit?: number): Promise<ClaimResult>;
    get(callId: string): Promise<ToolCallRow | undefined>;
    ofStep(conversationId: string, stepId: string): Promise<ToolCallRow[]>;
    /** Claims a call for running, bound to its hash. `events` (such as `tool.started`) are appended in the same transaction, with the first claim only. */
    claim(callId: string, hash: string, events?: NewEvent[]): Promise<ClaimResult>;
    /**
     * Stores the result, its transcript entry (key = call id; none for a call of code) and events in one transaction, if `fence` is still the newest (any fence when undefined)
     * and the call has no result yet. Returns false otherwise.
     */
    settle(callId: string, fence: number | undefined, result: CallResult, events: NewEvent[]): Promise<boolean>;
    /** Replaces arguments and hash of a call that has not started. Returns false when it has. */
    edit(callId: string, argumentsEdited: JsonObject, hash: string): Promise<boolean>;
  };
  events: {
    append(conversationId: string, events: NewEvent[]): Promise<void>;
    /** A page of what comes after `afterSeq`: up to `limit` (default 500) events, and fewer where they are large (4 MiB and one event at the most). Empty at the end only. */
    read(conversationId: string, afterSeq: number, limit?: number): Promise<ConversationEvent[]>;
    /** Number of the event that started a turn; 0 when it has not started. Spares a reader of one turn the conversation before it. */
    turnStart(conversationId: string, turnId: string): Promise<number>;
    /** How the turn that ended last has ended; undefined while none has. */
    lastTurn(conversationId: string): Promise<EventData['turn.finished'] | undefined>;
    /** Bytes of each stream of a call that its `tool.output` events have told. */
    toldOutput(conversationId: string, callId: string): Promise<{ stdout: number; stderr: number }>;
    /** The numbers of the `message.sent` events that a call has. */
    sentBy(conversationId: string, callId: string): Promise<number[]>;
    /** Yields events after `afterSeq` as they come, for ever; ends when `signal` aborts. Survives a lost database connection. */
    follow(conversationId: string, afterSeq: number, signal: AbortSignal): AsyncIterable<ConversationEvent>;
  };
  sandboxes: {
    /** Inserts the row, or returns the conversation's existing one. `ttlMs`: milliseconds until a new one expires. */
    ensure(row: Omit<SandboxRow, 'generation' | 'createdAt' | 'lastUsedAt' | 'containerId' | 'expiresAt'> & { ttlMs?: number }): Promise<SandboxRow>;
    get(sandboxId: string): Promise<SandboxRow | undefined>;
    ofConversation(conversationId: string): Promise<SandboxRow | undefined>;
    list(filter: { hostId?: string; states?: SandboxState[] }): Promise<SandboxRow[]>;
    /** Compare-and-set on `(id, generation)`; returns the new row, or undefined when somebody else was first. Appends `sandbox.changed` when it has a conversation. */
    change(sandboxId: string, generation: number, change: SandboxChange): Promise<SandboxRow | undefined>;
    touch(sandboxId: string): Promise<void>;
    /** Puts off the end of a sandbox that has one, to at least so many milliseconds from now on. */
    prolong(sandboxId: string, ttlMs: number): Promise<void>;
    /** Replaces its rules about hosts. */
    setEgress(sandboxId: string, rules: JsonObject[string][]): Promise<void>;
    /** Those whose time is over and for which nothing of what was to happen then has been done. */
    listExpired(): Promise<SandboxRow[]>;
    /**
     * Gives a conversation, or nobody, a sandbox that is free: without a conversation, or with a closed one. Undefined when it is not there, of another
     * tenant, or taken.
     */
    adopt(sandboxId: string, tenantId: string, conversationId?: string): Promise<SandboxRow | undefined>;
    remove(sandboxId: string): Promise<void>;
    /** Removes the row of that generation; false when there is none, so that somebody else has changed or removed it. */
    withdraw(sandboxId: string, generation: number): Promise<boolean>;
  };
  /** Keys and JSON values of plugins; entries whose time is over count as gone. */
  pluginStore: {
    entry(shelf: PluginShelf, key: string): Promise<{ value: Json; version: number } | undefined>;
    /** With `ifVersion` only over that version (0: only where there is none). @throws PLUGIN_STORE_REFUSED for keys and values that are too large or too many. */
    set(shelf: PluginShelf, key: string, value: Json, options?: { ttlMs?: number; ifVersion?: number }): Promise<'created' | 'updated' | 'conflict'>;
    delete(shelf: PluginShelf, key: string): Promise<boolean>;
    /** Keys that begin with the prefix, sorted by their code points. */
    list(shelf: PluginShelf, prefix: string): Promise<string[]>;
    /** Removes the entries whose time is over. */
    sweep(): Promise<void>;
  };
  temporalHome: {
    /** Gives the Temporal namespace that the database belongs to: this one, if it had none before. */
    claim(namespace: TemporalNamespace): Promise<TemporalNamespace>;
    /** Makes it belong to another one. */
    move(namespace: TemporalNamespace): Promise<void>;
  };
  /** Sandboxes of one host that are made before they are asked for. Those of one key are alike; each has a slot, counted from 1. */
  pools: {
    /** Says that somebody keeps a pool of that size, for so many milliseconds from now. */
    own(owner: { ownerId: string; hostId: string; key: string; size: number; forMs: number }): Promise<void>;
    /** Keeps the pools of these keys only. */
    leave(ownerId: string, keys: { butFor: string[] }): Promise<void>;
    /** Puts a row `creating` into a slot, unless there is one. */
    add(row: Pick<SandboxRow, 'sandboxId' | 'hostId' | 'containerName' | 'volumeName' | 'options'>, place: { key: string; slot: number }): Promise<void>;
    /** Those that wait or are being made, by slot. */
    list(hostId: string, key: string): Promise<SandboxRow[]>;
    /**
     * Gives a warm sandbox to a conversation that has none, or to whoever needs one without, those of `preferred` first; its row is `creating` then, found by
     * the conversation from now on, and expires after `ttlMs`. Undefined when none is left or the conversation has one.
     */
    claim(
      pool: { hostId: string; key: string; preferred: string[] },
      owner: { sandboxId: string; conversationId?: string; tenantId: string; options: JsonObject; ttlMs?: number },
    ): Promise<SandboxRow | undefined>;
    /** Makes the row of an unclaimed sandbox `destroyed`; false when it was claimed or retired before. */
    retire(sandboxId: string): Promise<boolean>;
    /** Unclaimed sandboxes whose slot nobody keeps any more. */
    unowned(hostId: string): Promise<SandboxRow[]>;
    /** Removes what is left of owners that have expired and of sandboxes that were retired long ago. */
    forget(hostId: string): Promise<void>;
  };
  snapshots: {
    /** False when the sandbox has one of that name. */
    insert(row: Omit<SnapshotRow, 'ready' | 'createdAt' | 'memoryVolume'>): Promise<boolean>;
    /** Says that it is whole; undefined when it was removed meanwhile. */
    finish(snapshotId: string, memoryVolume: string | undefined): Promise<SnapshotRow | undefined>;
    get(snapshotId: string): Promise<SnapshotRow | undefined>;
    /** The oldest first; unfinished ones, too. */
    list(filter: SnapshotFilter): Promise<SnapshotRow[]>;
    remove(snapshotId: string): Promise<void>;
  };
  /** What sandboxes used, for a day. */
  samples: {
    /** Leaves out sandboxes that somebody has measured within `apartMs`, and forgets what is older than a day. */
    add(samples: SandboxSample[], options: { apartMs: number }): Promise<void>;
    /** `cpus`: processors in use since the sample before, absent in the first one. */
    newest(sandboxId: string): Promise<(Omit<SandboxSample, 'sandboxId' | 'cpuMs'> & { at: string; cpus?: number }) | undefined>;
    /** Milliseconds that a sandbox has spent in each state, up to now. */
    stateTimes(sandboxId: string): Promise<Partial<Record<SandboxState, number>>>;
    /** Of the sandboxes that are not destroyed, by state and template (empty: none). Use is that of the last two minutes; of those that rest, their disk. */
    totals(): Promise<SandboxTotals[]>;
  };
  /** Where archives are kept. */
  blobs: BlobStore;
  /** Plugins as operators want them, and as the workers have them. */
  plugins: {
    /** Those of plugins that have any. */
    settings(): Promise<PluginSettings[]>;
    enable(pluginId: string, enabled: boolean): Promise<PluginSettings>;
    /** Replaces the configuration; with `ifVersion` only that version's. Undefined when it is another one. */
    configure(pluginId: string, config: JsonObject, ifVersion?: number): Promise<PluginSettings | undefined>;
    /** Goes back to the configuration before `version`, under a new version, if that one is still the newest. What was taken back is not taken back again. */
    takeBackConfig(pluginId: string, version: number, problem: string): Promise<void>;
    reload(pluginId: string): Promise<PluginSettings>;
    /** Adds to what operators granted. */
    grant(pluginId: string, permissions: PermissionBound): Promise<PluginSettings>;
    /** Takes exactly these values away. */
    revoke(pluginId: string, permissions: PermissionBound): Promise<PluginSettings>;
    report(hostId: string, report: PluginReport): Promise<void>;
    /** Keeps a host's reports from being taken for those of one that is gone; to be called again within a minute. */
    stillHere(hostId: string): Promise<void>;
    /** Removes a host's reports but those of these names, and all of hosts that nothing was heard of for a week. */
    forget(hostId: string, names: string[]): Promise<void>;
    reports(): Promise<KeptPluginReport[]>;
    /** Yields at once, and then whenever the settings may have changed, until `signal` aborts or the store closes. */
    follow(signal: AbortSignal): AsyncIterable<void>;
  };
  /** True when the database answers. */
  ping(): Promise<boolean>;
  [Symbol.asyncDispose](): Promise<void>;
}
