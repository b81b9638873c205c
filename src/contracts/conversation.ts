import type { AgentLimits } from './agent.ts';
import type { JsonObject } from './json.ts';
import type { ScheduledBy } from './schedule.ts';

export const CONVERSATION_WORKFLOW = 'conversation';

/** Longest message a client may store, in characters; one typed into the Temporal UI may have 16 384. */
export const MAX_MESSAGE_LENGTH = 100_000;
/** Arguments of one tool call larger than this (JSON characters) stay in Postgres and out of Temporal. */
export const MAX_INLINE_ARGUMENTS = 16_384;

/** `running`: a turn is at work. `idle`: waiting for a message. `closing`: cleaning up. */
export type ConversationState = 'running' | 'idle' | 'awaiting-approval' | 'paused' | 'closing' | 'closed';

/**
 * Where the sandbox is. `none`: not yet created. `hibernated`: its processes are on disk and go on when it wakes. `stopped`: its processes have ended.
 * `archived`: it is on no host; its files, and its processes if they were hibernated, are packed in the blob store.
 * `lost`: its container died; the next tool call makes a new one on the same files.
 */
export type SandboxTier = 'none' | 'running' | 'frozen' | 'hibernated' | 'stopped' | 'archived' | 'lost' | 'destroyed';

export type BudgetKind = 'turns' | 'steps' | 'tokens' | 'wallTime' | 'storage';
export type PauseReason =
  | { by: 'operator'; note?: string }
  | { by: 'budget'; exhausted: BudgetKind; limit: number }
  /** Nobody answered this approval in time; it waits on. */
  | { by: 'approval'; callId: string; tool: string };

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

/** Start arguments of the conversation workflow; `carried` is set by continue-as-new only. */
export interface ConversationInput {
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  limits: AgentLimits;
  /** The first message, already validated; absent when the conversation starts empty. */
  firstMessage?: QueuedMessage;
  /** Absent unless a schedule started it. */
  scheduledBy?: ScheduledBy;
  /** The conversation closes itself when it has answered what it was sent, instead of waiting for more. */
  closeWhenDone?: boolean;
  carried?: CarriedConversation;
}

/** A message that waits; its text is in Postgres under `messageId`, unless an operator typed it into the Temporal UI. */
export interface QueuedMessage {
  messageId: string;
  turnId: string;
  text?: string;
}

/** A turn that a note of a tool call set off; without a call, an operator did. */
export interface Wake {
  turnId: string;
  callId?: string;
}

/** What one run of the workflow hands to the next. */
export interface CarriedConversation {
  queue: QueuedMessage[];
  /** Ids of the newest messages accepted, for deduplication over continue-as-new; at most 200. */
  recentMessages: { messageId: string; turnId: string }[];
  wake?: Wake;
  paused?: PauseReason;
  turnsUsed: number;
  tokensUsed: number;
  workedMs: number;
  sandboxTier: SandboxTier;
  /** Tools allowed for good by an operator in this conversation. */
  allowedTools: string[];
  extraTurns: number;
  extraTokens: number;
  extraWallTimeMs: number;
}

// ---- messages to a running conversation (all arguments are one flat JSON object) ----

export type WhenBusy = 'queue' | 'steer' | 'interrupt' | 'reject';

export interface SendMessageArgs {
  /** Made by the client; the same id twice is one message. */
  messageId: string;
  /** The text, at most 16 KB; absent when the client has stored it in Postgres under `messageId` (clients always do). */
  text?: string;
  /** `queue` (default): after the running turn. `steer`: into the running turn, at its next step. `interrupt`: end the running turn first. `reject`: refuse when busy. */
  whenBusy?: WhenBusy;
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
export interface ResolveApprovalResult {
  callId: string;
  answer: ApprovalAnswer;
}

export interface PauseArgs {
  /** `step` (default): when the running step is done. `now`: freeze the running command where it is. */
  mode?: 'step' | 'now';
  note?: string;
}
export interface ResumeArgs {
  /** Grants that add to an exhausted budget. */
  extraTurns?: number;
  extraTokens?: number;
  extraWallTimeMs?: number;
  extraStorageMb?: number;
}

export interface WakeArgs {
  /** The call whose note asks for a turn; it gets one, however often it asks. */
  callId?: string;
}

export interface PendingApproval {
  callId: string;
  tool: string;
  turnId: string;
  /** Hash of tool, arguments and plugin version. */
  hash: string;
  /** The arguments, absent when larger than 16 KB (then read the transcript). */
  arguments?: JsonObject;
  /** Why a person is asked, in words. */
  why: string;
  requestedAtMs: number;
  /** 0 when it waits for ever. */
  expiresAtMs: number;
}

export interface ConversationStatus {
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  state: ConversationState;
  paused?: PauseReason;
  /** Nobody is there to approve anything: only calls that read and need no approval run. */
  unattended?: boolean;
  /** The schedule that started it; absent when somebody did. */
  scheduledBy?: ScheduledBy;
  turnId?: string;
  queued: number;
  turnsUsed: number;
  /** Model calls of the running turn. */
  stepsUsed: number;
  tokensUsed: number;
  /** Bytes that it takes up in the database; added by the database. */
  storedBytes?: number;
  workedMs: number;
  sandboxTier: SandboxTier;
  /** How the turn that ended last has ended, and why where it did not finish by itself; absent while none has ended. */
  lastTurn?: LastTurn;
  pendingApprovals: PendingApproval[];
  /** Tool calls that run now. */
  runningCalls: { callId: string; tool: string }[];
}

export interface LastTurn {
  turnId?: string;
  outcome: TurnOutcome;
  message?: string;
  /** ISO 8601, UTC. */
  at: string;
}

export type TurnOutcome = 'finished' | 'failed' | 'interrupted' | 'stopped' | 'cancelled';
