import type { ConversationState, ConversationStatus, SandboxTier } from '../contracts/conversation.ts';
import type { ConversationEvent, EventType } from '../contracts/events.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { SandboxSample } from '../sandbox/sandbox.ts';
import type { BlobStore, StoredBlob } from './blobs/blob-store.ts';
import type { ContentPart, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';

/** What an append gives; the store adds `seq`, `at` and the conversation. */
export interface NewEvent {
  type: EventType;
  turnId?: string;
  stepId?: string;
  attempt?: number;
  data: JsonObject;
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

/** State of a sandbox's row; `creating` has a name but perhaps no container yet, `warm` has one that runs and belongs to no conversation yet. */
export type SandboxState = 'creating' | 'warm' | Exclude<SandboxTier, 'none'>;

export interface SandboxRow {
  sandboxId: string;
  /** Absent for a sandbox used without a conversation. */
  conversationId?: string;
  tenantId: string;
  /** Grows with every change of state; a change names the generation it saw. */
  generation: number;
  state: SandboxState;
  /** Id of the host whose engine has the container. */
  hostId: string;
  containerName: string;
  containerId?: string;
  volumeName: string;
  /** The parsed options it was created with. */
  options: JsonObject;
  /** When it was last rebuilt without its old files, and so without the journal of its commands; absent when it never was. */
  filesLostAt?: string;
  /** When it may be destroyed, whatever it does; absent where a conversation decides. */
  expiresAt?: string;
  /** Of an archived sandbox. */
  archive?: SandboxArchive;
  lastUsedAt: string;
  createdAt: string;
  /** Where it waits for its conversation, or, without a slot, has waited. */
  pool?: { key: string; slot?: number };
}

/** Where a plugin's entries lie: with a conversation, with a user, with a user in a conversation, or with the plugin in its tenant. */
export interface PluginShelf {
  pluginId: string;
  tenantId: string;
  conversationId?: string;
  userId?: string;
}

/** What an archived sandbox was packed into. */
export interface TemporalNamespace {
  name: string;
  /** The server's own; another server's namespace of the same name has another one. Absent when it is not known. */
  id?: string;
}

export interface SandboxArchive {
  /** Of everything under `/home`: a tar stream, gzipped. */
  files: StoredBlob;
  /** Of its checkpoint, when it was archived with its processes. */
  memory?: StoredBlob;
}

/** A change of a sandbox's row. */
export interface SandboxChange {
  state: SandboxState;
  containerId?: string;
  lost?: string;
  /** Notes the moment as `filesLostAt`. */
  filesLost?: boolean;
  hostId?: string;
  volumeName?: string;
  /** Goes with the state `archived`; any other change removes it. */
  archive?: SandboxArchive;
}

export interface SnapshotRow {
  snapshotId: string;
  /** Of the sandbox it was made of, which may be gone. */
  sandboxId: string;
  tenantId: string;
  /** Absent for an automatic one, which goes when there are too many or it is too old. */
  name?: string;
  /** False while it is being made. */
  ready: boolean;
  hostId: string;
  volumeName: string;
  /** Volume with the checkpoint of its processes; absent when they were not taken along. */
  memoryVolume?: string;
  /** Those of the sandbox. */
  options: JsonObject;
  createdAt: string;
}
export interface SandboxTotals {
  state: SandboxState;
  template: string;
  sandboxes: number;
  cpus: number;
  memoryBytes: number;
  diskBytes: number;
  processes: number;
}
export interface SnapshotFilter {
  sandboxId?: string;
  tenantId?: string;
  hostId?: string;
}

/** What operators want of a plugin. */
export interface PluginSettings {
  pluginId: string;
  enabled: boolean;
  /** As it was written: secrets are references to variables, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 was never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was taken back. */
  configProblem?: string;
  /** Grows with each wish to load the plugin again. */
  reloads: number;
  updatedAt: string;
}

/** `failed`: its tools cannot be called. A `loaded` one may have an error too: that of a newer version which could not take its place. */
export type PluginHealth = 'loaded' | 'disabled' | 'failed';

/** What a host's workers say of a plugin. */
export interface PluginReport {
  /** As agents name it. */
  name: string;
  health: PluginHealth;
  /** It has no process until it is called again. */
  asleep?: true;
  /** Absent where the plugin could not even say its id. */
  pluginId?: string;
  version?: string;
  dialect?: string;
  description?: string;
  tools: string[];
  permissions: JsonObject;
  configSchema?: JsonObject;
  /** Version of the configuration that it works with. */
  configVersion?: number;
  alerts: { level: 'info' | 'warning' | 'error'; text: string; at: string }[];
  error?: string;
}

/** A report as it is kept. */
export interface KeptPluginReport extends PluginReport {
  hostId: string;
  /** Since when it is so. */
  at: string;
  /** No worker of that host has told of itself for some minutes, so nobody knows how it is now. */
  away?: true;
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
    /** Inserts a call of code in a sandbox, the `number`-th of its exec, with its events; one that exists stays as it is. */
    proposeMethod(call: NewMethodCall, events: NewEvent[]): Promise<void>;
    /** As `proposeMethod` and `claim`, in one round trip for a call that is new. */
    claimMethod(call: NewMethodCall, events: { requested: NewEvent[]; started: NewEvent[] }): Promise<ClaimResult>;
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
    /** Up to `limit` (default 500) events after `afterSeq`. */
    read(conversationId: string, afterSeq: number, limit?: number): Promise<ConversationEvent[]>;
    /** Number of the event that started a turn; 0 when it has not started. Spares a reader of one turn the conversation before it. */
    turnStart(conversationId: string, turnId: string): Promise<number>;
    /** Bytes of each stream of a call that its `tool.output` events have told. */
    toldOutput(conversationId: string, callId: string): Promise<{ stdout: number; stderr: number }>;
    /** How many `message.sent` events a call has. */
    sentBy(conversationId: string, callId: string): Promise<number>;
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
    /** Those whose time is over and that are not destroyed. */
    listExpired(): Promise<SandboxRow[]>;
    /**
     * Gives a conversation, or nobody, a sandbox that is free: without a conversation, or with a closed one. Undefined when it is not there, of another
     * tenant, or taken.
     */
    adopt(sandboxId: string, tenantId: string, conversationId?: string): Promise<SandboxRow | undefined>;
    remove(sandboxId: string): Promise<void>;
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
  /** Sandboxes of one host that are made before they are asked for. Those of one key are alike; each has a slot, counted from 1. */
  temporalHome: {
    /** Gives the Temporal namespace that the database belongs to: this one, if it had none before. */
    claim(namespace: TemporalNamespace): Promise<TemporalNamespace>;
    /** Makes it belong to another one. */
    move(namespace: TemporalNamespace): Promise<void>;
  };
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
    /** Of the sandboxes that are not destroyed, by state and template (empty: none); use is that of the last two minutes. */
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
