import type { BackupState } from './checkpoints/backup.ts';
import type { WaitingCall } from './client-tool.ts';
import type { ImportedFrom } from './imports/import.ts';
import type { ForkedFrom } from './forks/fork.ts';
import type { JsonObject } from './json.ts';
import type { RoomStatus } from './hosts/room.ts';
import type { WaitsForPlace } from './places/turn-place.ts';
import type { PlanItem } from './plan/plan.ts';
import type { ScheduledBy } from './schedule.ts';
import type { Parent, Share, Spent } from './sub-agent.ts';
import type { AskedByPlugins, UsageTotals } from './usage.ts';

export const CONVERSATION_WORKFLOW = 'conversation';

/** Longest message that a client may store, in characters. A message typed into the Temporal UI may have 16 384. */
export const MAX_MESSAGE_LENGTH = 100_000;
/** Arguments of one tool call larger than this (JSON characters) stay in Postgres and out of Temporal. */
export const MAX_INLINE_ARGUMENTS = 16_384;

/** `running`: a turn runs. `idle`: waiting for a message. `closing`: cleaning up. */
export type ConversationState = 'running' | 'idle' | 'awaiting-approval' | 'paused' | 'closing' | 'closed';

/**
 * Where the sandbox is. `none`: not yet created. `hibernated`: its processes are on disk and continue when it wakes. `stopped`: its processes have ended.
 * `archived`: it is on no host; its files, and its processes if they were hibernated, are packed in the blob store.
 * `lost`: its container died; the next tool call makes a new one on the same files.
 */
export type SandboxTier = 'none' | 'running' | 'frozen' | 'hibernated' | 'stopped' | 'archived' | 'lost' | 'destroyed';

export type BudgetKind = 'turns' | 'steps' | 'tokens' | 'wallTime' | 'storage' | 'cost';
export type PauseReason =
  | { by: 'operator'; note?: string }
  | { by: 'budget'; exhausted: BudgetKind; limit: number }
  /** This approval was not answered in time; it keeps waiting. */
  | { by: 'approval'; callId: string; tool: string };

/** A message that waits; its text is in Postgres under `messageId`, unless an operator typed it into the Temporal UI. */
export interface QueuedMessage {
  messageId: string;
  turnId: string;
  text?: string;
  /** The answer has to fit a schema, which is in Postgres with the message. */
  output?: true;
}

/** A turn that a note of a tool call started; without a call, an operator started it. */
export interface Wake {
  turnId: string;
  callId?: string;
}

/** State that has the same shape within a run of the workflow and between two runs. */
export interface KeptState extends Pick<AskedByPlugins, 'askedByTasks'> {
  turnsUsed: number;
  tokensUsed: number;
  /** Work done before the running step, if one runs. */
  workedMs: number;
  sandboxTier: SandboxTier;
  /** Tools that an operator allowed for the rest of this conversation. */
  allowedTools: string[];
  extraTurns: number;
  extraTokens: number;
  extraWallTimeMs: number;
  /** Absent until an operator grants storage. */
  extraStorageMb?: number;
  /** US dollars for model calls; absent while none cost anything. */
  costUsd?: number;
  /** Under a budget of cost, a call was made whose cost is not known. */
  unknownCost?: true;
  /** Absent until an operator grants cost. */
  extraCostUsd?: number;
  /** Where people reach the HTTP service; absent while no worker has said it. */
  serviceUrl?: string;
  /** The host that has the sandbox; absent while no worker of another host was asked for it. `waitMs`: after this time without an answer, it may be lost. */
  sandboxHost?: { id: string; waitMs: number };
}

/** A sub-agent for which a part of the budget is put aside, or one that waits for that. */
export interface LiveSubAgent {
  callId: string;
  /** What it asks to put aside. */
  asked: Share;
  /** What is put aside; absent while it waits. */
  share?: Share;
  /** Its conversation; absent until that is known to exist. */
  conversationId?: string;
  /** No call waits for it: the conversation gets a message when it has ended. */
  inBackground?: true;
  /** It may work in this conversation's sandbox. */
  sharesSandbox?: true;
}

// ---- messages to a running conversation (all arguments are one flat JSON object) ----

export type WhenBusy = 'queue' | 'steer' | 'interrupt' | 'reject';

export interface SendMessageArgs {
  /** Made by the client; two messages with the same id are one message. */
  messageId: string;
  /** The text, at most 16 KB; absent when the client has stored it in Postgres under `messageId` (clients always do). */
  text?: string;
  /** `queue` (default): after the running turn. `steer`: into the running turn, at its next step. `interrupt`: end that first. `reject`: refuse when busy. */
  whenBusy?: WhenBusy;
  /** The answer has to fit the schema that the client has stored with the message. */
  output?: true;
}
export interface SendMessageResult {
  turnId: string;
  /** True when this message id had been accepted before. */
  duplicate: boolean;
}

export type ApprovalAnswer = 'allow' | 'allow-once' | 'deny';
export interface ResolveApprovalArgs {
  callId: string;
  /** `allow` also allows the tool for the rest of the conversation. */
  answer: ApprovalAnswer;
  /** The hash shown with the pending approval; an answer to another hash is refused. */
  hash: string;
  /** Arguments to run with instead of those the model gave. */
  editedArguments?: JsonObject;
  reason?: string;
  /** Who answers; shown in the events. */
  by?: string;
}
/** A tool that a person has allowed for the rest of the conversation. */
export interface AllowedTool {
  tool: string;
  /** The call whose approval was answered; absent, as the others, when that is not known. */
  callId?: string;
  /** As the answer said. */
  by?: string;
  /** ISO 8601, UTC. */
  at?: string;
}
/** A call that a rule asks about, and that runs since its tool was allowed for the rest of the conversation. */
export interface AllowedCall {
  remembered?: true;
}
export interface RevokeAllowedToolArgs {
  tool: string;
  /** Who revokes; shown in the events. */
  by?: string | undefined;
}
export interface RevokeAllowedToolResult {
  tool: string;
  /** False when the tool was not allowed for the rest of the conversation. */
  revoked: boolean;
}
export interface ResolveApprovalResult {
  callId: string;
  answer: ApprovalAnswer;
}

export interface PauseArgs {
  /** `step` (default): when the running step is done. `now`: freeze the running command at once. */
  mode?: 'step' | 'now' | undefined;
  note?: string | undefined;
}
export interface ResumeArgs {
  /** Amounts that are added to the budget. */
  extraTurns?: number | undefined;
  extraTokens?: number | undefined;
  extraWallTimeMs?: number | undefined;
  extraStorageMb?: number | undefined;
  /** US dollars; the only amount that may be less than 1. */
  extraCostUsd?: number | undefined;
}

export interface WakeArgs {
  /** The call whose note asks for a turn. All requests of one call start one turn. */
  callId?: string;
}

export interface PendingApproval {
  callId: string;
  tool: string;
  turnId: string;
  /** Hash of tool, arguments and plugin version. */
  hash: string;
  /** The arguments, absent when larger than 16 KB, or when those of other approvals take the room (then read the events). */
  arguments?: JsonObject;
  /** Why a person is asked, as text. */
  why: string;
  requestedAtMs: number;
  /** 0 when it waits without limit. */
  expiresAtMs: number;
}

export interface ConversationStatus extends RoomStatus {
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  state: ConversationState;
  paused?: PauseReason;
  /** No person can approve calls: only calls that read and need no approval run. */
  unattended?: boolean;
  /** Present when a schedule started the conversation. */
  scheduledBy?: ScheduledBy;
  /** Present in the conversation of a sub-agent. */
  parent?: Parent;
  /** Present in a fork of another conversation. */
  forkedFrom?: ForkedFrom;
  /** Present in a conversation that was brought in from an export. */
  importedFrom?: ImportedFrom;
  /** How many forks were made of it that remain; absent when there are none. */
  forks?: number;
  /** What a sub-agent has used, with its own sub-agents. */
  spent?: Spent;
  turnId?: string;
  queued: number;
  turnsUsed: number;
  /** Model calls of the running turn. */
  stepsUsed: number;
  tokensUsed: number;
  /** Bytes that the conversation uses in the database; set when the status is read from the database. */
  storedBytes?: number;
  /** Tokens and cost of its model calls; set when the status is read from the database, once a call has been stored. */
  usage?: UsageTotals;
  workedMs: number;
  sandboxTier: SandboxTier;
  /** How the last turn ended, and why when it did not finish normally; absent before a turn has ended. */
  lastTurn?: LastTurn;
  pendingApprovals: PendingApproval[];
  /** Tools that were allowed for the rest of the conversation; absent when there are none. */
  allowedTools?: AllowedTool[];
  /** Tool calls that run now. */
  runningCalls: { callId: string; tool: string }[];
  /** Tool calls that wait for a client; absent when there are none. */
  waitingCalls?: WaitingCall[];
  /** The running turn waits until another one ends; absent while it does not. */
  waitsForPlace?: WaitsForPlace;
  /** The plan of the agent; set when the status is read from the database, while there is one. */
  plan?: PlanItem[];
  /** About the backups of its sandbox; set when the status is read from the database, once there is one to make. */
  backup?: BackupState;
}

export interface LastTurn {
  turnId?: string;
  outcome: TurnOutcome;
  message?: string;
  /** ISO 8601, UTC. */
  at: string;
}

export type TurnOutcome = 'finished' | 'failed' | 'interrupted' | 'stopped' | 'cancelled';
