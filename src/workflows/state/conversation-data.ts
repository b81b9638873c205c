import type { ApprovalLink, ProposedCall, SaveStatusArgs } from '../../contracts/activities.ts';
import type { AgentLimits } from '../../contracts/agent.ts';
import type { WaitingCall } from '../../contracts/client-tool.ts';
import type { AllowedTool, ApprovalAnswer, KeptState, LiveSubAgent, PauseReason, PendingApproval, QueuedMessage, Wake } from '../../contracts/conversation.ts';
import type { ImportedFrom } from '../../contracts/imports/import.ts';
import type { ForkInput, ShownForks } from '../../contracts/forks/fork.ts';
import type { ContextWish } from '../../contracts/transcript.ts';
import type { ShownPlan } from '../../contracts/plan/plan.ts';
import type { ScheduledBy } from '../../contracts/schedule.ts';
import type { Parent } from '../../contracts/sub-agent.ts';
import type { PauseWish, RecentRequest, Turn } from '../../contracts/conversation-run.ts';

/** How an approval ended; `withdrawn` when its turn ended before an answer. */
export interface Resolution {
  answer: ApprovalAnswer | 'expired' | 'withdrawn';
  reason?: string;
  /** No person has denied the call. */
  byPolicy?: true;
}

/** An approval of the running step. It can be answered once: `claimed` while an answer to it is being recorded. */
export interface Approval {
  pending: PendingApproval;
  claimed: boolean;
  answer?: Resolution;
  /** With it, anyone may answer once: it is shown in the details for the Temporal UI, and is no part of the status. */
  link?: ApprovalLink;
}

/** A call of the running step that a client runs. */
export interface OpenClientCall extends WaitingCall {
  /** It is known to clients, and nothing is attached to it. */
  isWaiting: boolean;
  /** A client has answered since it was last attached to. */
  isAnswered: boolean;
}

/** A question of the server of a running call. */
export interface OpenQuestion {
  /** The call whose server asks. */
  ofCall: string;
  question: ProposedCall;
  /** A person is being asked. */
  isTaken: boolean;
  /** The server no longer wants the answer. */
  isWithdrawn: boolean;
  /** Its end is in the ledger. */
  hasEnded: boolean;
}

/** The whole state of a conversation; only the state modules of this folder change it. */
export interface ConversationData extends KeptState {
  readonly conversationId: string;
  readonly agentId: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly limits: AgentLimits;
  readonly scheduledBy?: ScheduledBy;
  readonly closeWhenDone: boolean;
  /** Present in the conversation of a sub-agent. */
  readonly parent?: Parent;
  /** Present in a fork of another conversation. */
  readonly fork?: ForkInput;
  readonly importedFrom?: ImportedFrom;
  /** The fork has no files yet: no turn starts. */
  awaitsFiles?: true;
  /** Forks of this conversation; absent while it knows of none. */
  forks?: ShownForks;
  queue: QueuedMessage[];
  /** How many messages at the head of the queue came with `interrupt`; the next such message is put behind them. */
  urgent: number;
  recentMessages: { messageId: string; turnId: string }[];
  /** The newest signals and updates with ids that took effect, in this run and those before; absent when there are none. */
  recentRequests?: RecentRequest[];
  /** A note asks for a turn. The next step reads the note, whatever starts that step. */
  wake?: Wake;
  turn?: Turn;
  /** An operator asks to compact the context, or to undo that. */
  contextWish?: ContextWish;
  /** Such a wish is being served. */
  changesContext?: true;
  /** A pause that was requested and has not begun. */
  pauseWish?: PauseWish;
  paused?: PauseReason;
  /** When the pause began; absent in pauses that began under an earlier version. */
  pausedAtMs?: number;
  /** How it was wished for. Absent in pauses that began in an earlier run, and in those for a budget. */
  pausedHow?: PauseWish['mode'];
  /** The files are being made as they were: no turn starts. */
  rewinding?: true;
  /** A rewind has woken the sandbox since the rest began. */
  rewound?: true;
  closing: boolean;
  closed: boolean;
  /** Model calls of all turns, with those of sub-agents that have ended. */
  stepsTaken: number;
  /** When the running step began; `workedMs` has what was worked before. */
  workingSinceMs?: number;
  /** How they were allowed, where that is known. */
  allowances: AllowedTool[];
  /** Bytes that a worker found stored, when they reached the limit. */
  storedBytes?: number;
  approvals: Approval[];
  /** Calls in a row that the judge has handed over. */
  handovers: number;
  runningCalls: { callId: string; tool: string }[];
  /** Calls whose commands wait in the sandbox: detached by a pause, or waiting for calls of their code. */
  detachedCalls: number;
  /** Sub-agents that have not ended, in the order of their calls. */
  subAgents: LiveSubAgent[];
  /** A sub-agent that shared the sandbox has ended since the rest began: whether it has left it running. */
  guestEnded?: 'running' | 'resting';
  /** Conversations of sub-agents for which calls wait. */
  awaitedAgents: string[];
  /** Calls whose sub-agents have got a place in the tree of conversations, for which the calls wait. */
  placedAgents: string[];
  /** Calls of the running step that clients run. */
  clientCalls: OpenClientCall[];
  /** Questions of servers whose calls run; absent while none has asked. */
  questions?: OpenQuestion[];
  /** The plan of the agent, as far as it is shown to operators. */
  plan?: ShownPlan;
  /** Events that wait to be saved with the status. */
  outbox: SaveStatusArgs['events'];
}
