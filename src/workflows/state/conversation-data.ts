import type { AcceptedMessage, ApprovalLink, SaveStatusArgs } from '../../contracts/activities.ts';
import type { AgentLimits } from '../../contracts/agent.ts';
import type { ApprovalAnswer, PauseReason, PendingApproval, QueuedMessage, SandboxTier, TurnOutcome, Wake } from '../../contracts/conversation.ts';
import type { ScheduledBy } from '../../contracts/schedule.ts';

/** How a turn is asked to end: at once, or (`stopped`) when its running step is done. */
export type TurnEnding = Extract<TurnOutcome, 'interrupted' | 'cancelled' | 'stopped'>;

export interface Turn {
  turnId: string;
  /** Absent when a note started the turn. */
  message?: QueuedMessage;
  /** The call whose note started the turn. */
  wokenBy?: string;
  /** Model calls made. */
  steps: number;
  /** Steps granted by resuming after the budget of steps was used up. */
  extraSteps: number;
  /** Messages that join the turn at its next step. */
  steers: QueuedMessage[];
  /** Messages that a model call is to accept, until it is known that they are accepted. */
  unaccepted: AcceptedMessage[];
  ending?: TurnEnding;
}

/** How an approval ended; `withdrawn` when its turn ended before an answer. */
export interface Resolution {
  answer: ApprovalAnswer | 'expired' | 'withdrawn';
  reason?: string;
}

/** An approval of the running step. It can be answered once: `claimed` while an answer to it is being recorded. */
export interface Approval {
  pending: PendingApproval;
  claimed: boolean;
  answer?: Resolution;
  /** With it, anyone may answer once: it is shown in the details for the Temporal UI, and is no part of the status. */
  link?: ApprovalLink;
}

/** A request to pause: after the running step, or at once. */
export interface PauseWish {
  reason: PauseReason;
  mode: 'step' | 'now';
}

/** The whole state of a conversation; only the state modules of this folder change it. */
export interface ConversationData {
  readonly conversationId: string;
  readonly agentId: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly limits: AgentLimits;
  readonly scheduledBy?: ScheduledBy;
  readonly closeWhenDone: boolean;
  queue: QueuedMessage[];
  /** How many messages at the head of the queue came with `interrupt`; the next such message is put behind them. */
  urgent: number;
  recentMessages: { messageId: string; turnId: string }[];
  /** A note asks for a turn. The next step reads the note, whatever starts that step. */
  wake?: Wake;
  turn?: Turn;
  /** A pause that was requested and has not begun. */
  pauseWish?: PauseWish;
  paused?: PauseReason;
  /** When the pause began; absent in pauses that began under an earlier version. */
  pausedAtMs?: number;
  closing: boolean;
  closed: boolean;
  turnsUsed: number;
  tokensUsed: number;
  /** Work done before `workingSinceMs`. */
  workedMs: number;
  workingSinceMs?: number;
  sandboxTier: SandboxTier;
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
  /** Bytes that a worker found stored, when they reached the limit. */
  storedBytes?: number;
  /** Where people reach the HTTP service; absent while no worker has said it. */
  serviceUrl?: string;
  approvals: Approval[];
  runningCalls: { callId: string; tool: string }[];
  /** Calls whose commands wait in the sandbox: detached by a pause, or waiting for calls of their code. */
  detachedCalls: number;
  /** Events that wait to be saved with the status. */
  outbox: SaveStatusArgs['events'];
}
