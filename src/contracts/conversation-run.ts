import type { AgentLimits } from './agent.ts';
import type { AcceptedMessage, AnswerCheck, ProposedCall } from './activities.ts';
import type { AllowedTool, KeptState, LiveSubAgent, PauseReason, QueuedMessage, TurnOutcome, Wake } from './conversation.ts';
import type { ForkInput, ShownForks } from './forks/fork.ts';
import type { ImportedFrom } from './imports/import.ts';
import type { JsonObject } from './json.ts';
import type { WaitsForPlace } from './places/turn-place.ts';
import type { ShownPlan } from './plan/plan.ts';
import type { ScheduledBy } from './schedule.ts';
import type { Parent } from './sub-agent.ts';
import type { ContextWish } from './transcript.ts';
import type { Usage } from './usage.ts';

/** How a turn is asked to end: at once, or (`stopped`) when its running step is done. */
export type TurnEnding = Extract<TurnOutcome, 'interrupted' | 'cancelled' | 'stopped'>;

/** The state of a running turn. It is JSON: a turn that makes a long history goes on in a new run of the workflow. */
export interface Turn {
  turnId: string;
  /** Absent when a note started the turn. */
  message?: QueuedMessage;
  /** The call whose note started the turn. */
  wokenBy?: string;
  /** Model calls made. */
  steps: number;
  /** The step of the newest of them. */
  stepId?: string;
  /** Steps granted by resuming after the budget of steps was used up. */
  extraSteps: number;
  /** Messages that join the turn at its next step. */
  steers: QueuedMessage[];
  /** Messages that a model call is to accept, until it is known that they are accepted. */
  unaccepted: AcceptedMessage[];
  /** The newest message of the turn that has a schema for the answer. */
  outputOf?: string;
  /** The newest answer did not fit its schema, and the model is asked once more. */
  repairs?: true;
  /** How often the prompt of the next step was made smaller. */
  compactions?: number;
  /** The agent has called tools. */
  called?: true;
  ending?: TurnEnding;
  /** Why the turn fails with its running step. */
  fails?: string;
  /** It may have a place among the turns that run; absent while no limit counts it. */
  counted?: true;
  /** It has no place, and asks before it works again. */
  away?: true;
  /** A worker has said that it has got a place since it asked. */
  placed?: true;
  /** What it waits for in the line. */
  waits?: WaitsForPlace;
  /** What the questions of its calls to the model have used, as far as it is counted, by the ids of the calls. */
  asked?: Record<string, Usage>;
  /** It has begun, and was left for a new run of the workflow to go on with. */
  moved?: true;
  /** The step that the earlier run did not finish. */
  openStep?: OpenStep;
}

/** A step whose calls the model has requested, and which are allowed to run. */
export interface OpenStep {
  stepId: string;
  /** All calls that the model has requested. */
  calls: ProposedCall[];
  /** Those that have no result yet, in order. */
  left: ProposedCall[];
  /** Of these, by their ids: those that have begun. */
  begun: string[];
  /** Calls that finished without an error, by their ids, each with its `onlyNoted`. */
  succeeded: Record<string, boolean>;
  /** Present when the answer has to fit a schema. */
  answer?: AnswerCheck;
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
  /** Present when a schedule started the conversation. */
  scheduledBy?: ScheduledBy;
  /** The conversation closes itself when it has answered its messages, instead of waiting for more. */
  closeWhenDone?: boolean;
  /** Present in the conversation of a sub-agent. */
  parent?: Parent;
  /** Present in a fork, which gets its files before its first turn. */
  fork?: ForkInput;
  /** Present in one that was brought in from an export. */
  importedFrom?: ImportedFrom;
  carried?: CarriedConversation;
}

/** A request to pause: after the running step, or at once. */
export interface PauseWish {
  reason: PauseReason;
  mode: 'step' | 'now';
}

/** A request from outside that has taken effect. */
export interface RecentRequest {
  requestId: string;
  /** Absent for signals, which have none. */
  result?: JsonObject;
}

/** State that one run of the workflow passes to the next. */
export interface CarriedConversation extends KeptState {
  queue: QueuedMessage[];
  /** How many of these, at the head, came with `interrupt`; absent when there are none. */
  urgent?: number;
  /** Ids of the newest accepted messages, for deduplication across continue-as-new; at most 200. */
  recentMessages: { messageId: string; turnId: string }[];
  /** The newest signals and updates that took effect, for the same purpose; at most 100, and absent when there are none. */
  recentRequests?: RecentRequest[];
  wake?: Wake;
  contextWish?: ContextWish;
  paused?: PauseReason;
  /** Absent while not paused, and in a pause that began under an earlier version. */
  pausedAtMs?: number;
  /** Only during a step. */
  pauseWish?: PauseWish;
  /** Absent between turns. */
  turn?: Turn;
  /** How they were allowed, where that is known; absent when there are none. */
  allowances?: AllowedTool[];
  /** Calls in a row that the judge has handed over; absent when there are none. */
  handovers?: number;
  /** Sub-agents that have not ended; absent when there are none. */
  subAgents?: LiveSubAgent[];
  /** Conversations of sub-agents for which calls of the turn wait; absent when there are none. */
  awaitedAgents?: string[];
  /** Model calls of all turns, with those of sub-agents. Absent in runs of versions that did not count them. */
  stepsTaken?: number;
  /** Absent while the agent has none. */
  plan?: ShownPlan;
  /** Absent while there are none. */
  forks?: ShownForks;
}
