import type { AttachmentFacts } from './attachments/media.ts';
import type { CompactionReason, ContentPart, CutOff } from './transcript.ts';
import type { ApprovalAnswer, BudgetKind, PauseReason, SandboxTier, TurnOutcome } from './conversation.ts';
import type { ForkedFrom, ForkEvents } from './forks/fork.ts';
import type { ImportedFrom } from './imports/import.ts';
import type { WaitsForRoom } from './hosts/room.ts';
import type { Json, JsonObject } from './json.ts';
import type { WaitsForPlace } from './places/turn-place.ts';
import type { PlanItem } from './plan/plan.ts';
import type { ScheduledBy } from './schedule.ts';
import type { Usage } from './usage.ts';

export const EVENT_TYPES = [
  'conversation.started',
  'conversation.paused',
  'conversation.resumed',
  'conversation.closed',
  'message.received',
  'message.sent',
  'turn.started',
  'turn.waiting',
  'turn.finished',
  'step.started',
  'step.finished',
  'text.delta',
  'reasoning.delta',
  'tool.requested',
  'tool.judged',
  'tool.approval-requested',
  'tool.approval-resolved',
  'tool.approval-revoked',
  'tool.started',
  'tool.waiting',
  'tool.output',
  'tool.finished',
  'tool.unknown',
  'sandbox.changed',
  'sandbox.waiting',
  'sandbox.egress',
  'checkpoint.created',
  'checkpoint.failed',
  'conversation.rewound',
  'conversation.forked',
  'fork.ready',
  'fork.failed',
  'agent.started',
  'agent.ended',
  'answer.refused',
  'context.compacted',
  'context.restored',
  'plan.changed',
  'budget.exhausted',
  'note',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The data of each type of event. New fields may be added to any of them; a reader ignores fields that it does not know. */
export interface EventData extends ForkEvents {
  /** `scheduledBy`: present when a schedule started the conversation. `forkedFrom`: present in a fork. `importedFrom`: present when it was brought in from an export. */
  'conversation.started': {
    agentId: string;
    userId: string;
    tenantId: string;
    scheduledBy?: ScheduledBy;
    forkedFrom?: ForkedFrom;
    importedFrom?: ImportedFrom;
  };
  'conversation.paused': { by: PauseReason['by']; note?: string };
  'conversation.resumed': JsonObject;
  'conversation.closed': JsonObject;
  'message.received': { messageId: string; text: string; steers: boolean; attachments?: (JsonObject & AttachmentFacts)[] };
  /** A tool sent something to the user before it had its result; `index` counts what this call sent, from 0. */
  'message.sent': { callId: string; tool: string; index: number; part: ContentPart };
  /** `wokenBy`: the call whose note started the turn; absent when a message or an operator started it. */
  'turn.started': { wokenBy?: string };
  /** The turn waits, since as many run as may: its next event says that it goes on. */
  'turn.waiting': WaitsForPlace;
  /**
   * `output`: the answer as a JSON value, when it had to fit a schema. One with more than 16 384 characters is only in the transcript; then
   * `outputCharacters` is present.
   */
  'turn.finished': { outcome: TurnOutcome; message?: string; output?: Json; outputCharacters?: number };
  'step.started': { step: number; attempt: number };
  /** `cutOff`: the provider ended the answer before the model had, at the limit of its tokens or by a filter; what followed, such as calls, is missing. */
  'step.finished': { usage: Usage; cutOff?: CutOff };
  'text.delta': { text: string };
  'reasoning.delta': { text: string };
  /**
   * `parentCallId`: the call whose code requested this one; absent when the model did. `arguments` are absent when they have more than 16 KB; then
   * `argumentsBytes` is present. The transcript has all arguments of the model's calls.
   */
  'tool.requested': { callId: string; tool: string; arguments?: JsonObject; argumentsBytes?: number; decision: string; why: string; parentCallId?: string };
  /** A model has judged the call: it runs, or a person is asked. `model` and `usage` are absent when it was not asked. */
  'tool.judged': { callId: string; tool: string; verdict: 'allow' | 'hand-over'; reason: string; confidence?: number; model?: string; usage?: Usage };
  'tool.approval-requested': { callId: string; tool: string; hash: string; why: string; arguments: JsonObject; expiresAtMs: number };
  /** `arguments` are those that the call runs with, after edits; absent when it does not run. */
  'tool.approval-resolved': {
    callId: string;
    tool: string;
    answer: ApprovalAnswer | 'expired';
    hash: string;
    arguments?: JsonObject;
    by?: string;
    reason?: string;
  };
  /** A tool that was allowed for the rest of the conversation is not any more. */
  'tool.approval-revoked': { tool: string; by?: string };
  'tool.started': { callId: string; tool: string };
  /**
   * A client is to run the call. `deadline`: ISO 8601, UTC; absent when it waits without limit. `arguments`: those that have more than 16 KB; others are in
   * `tool.requested`, or in `tool.approval-resolved`. `parentCallId`: the call whose code requested this one.
   */
  'tool.waiting': { callId: string; tool: string; deadline?: string; arguments?: JsonObject; parentCallId?: string };
  /**
   * `offset`: position in the stream, in bytes. `bytes`: length in the stream. When two workers both believed that they owned the call, output that both
   * reported has an offset that a reader has already passed.
   */
  'tool.output': { callId: string; stream: 'stdout' | 'stderr'; offset: number; bytes: number; text: string };
  'tool.finished': { callId: string; tool: string; isError: boolean; text: string; durationMs: number };
  'tool.unknown': { callId: string; tool: string; why: string };
  'sandbox.changed': { tier: SandboxTier; from: SandboxTier; lost?: string };
  /** A call waits for memory of a host: `sandbox.changed` tells when its sandbox runs. */
  'sandbox.waiting': WaitsForRoom;
  /** A summary: recent connections with the same decision are one entry. `leftOut` counts connections without an entry. */
  'sandbox.egress': {
    decisions: { host: string; port?: number; decision: 'allowed' | 'refused'; why?: string; connections: number; sentBytes: number; receivedBytes: number }[];
    leftOut?: number;
  };
  /** A copy of the home directory was made; the fields are those of `Checkpoint`. */
  'checkpoint.created': { checkpointId: string; at: string; files: number; bytes: number; changed: number; addedBytes: number; leftOut: number };
  'checkpoint.failed': { problem: string };
  /**
   * Files and transcript are as they were at a checkpoint: entries after `transcriptSeq` are no part of the conversation any more, unless a later rewind goes
   * to `before`, the state before this one.
   */
  'conversation.rewound': { checkpointId: string; before: string; transcriptSeq: number; written: number; removed: number; failed: number };
  /** A sub-agent has begun a task; it is a conversation of its own. */
  'agent.started': { callId: string; conversationId: string; agent: string };
  /** `outcome`: of its last turn. `tokens`, `steps`: what it used, with its own sub-agents. */
  'agent.ended': { callId: string; conversationId: string; outcome: TurnOutcome; tokens: number; steps: number };
  /** An answer did not fit the schema that it had to. The model is asked once more; then the turn fails. */
  'answer.refused': { problems: string };
  /**
   * Prompts are smaller from now on; the transcript is as it was. `stage`: the most that was done. Numbers are those of transcript entries: results and long arguments
   * are left out up to `outputsTo`, and the summary stands for what was said and done up to `summaryTo`. Tokens are estimates of a prompt.
   */
  'context.compacted': {
    compactionId: string;
    reason: CompactionReason;
    stage: 'outputs' | 'summary' | 'cut';
    outputsTo?: number;
    summaryTo?: number;
    summary?: string;
    tokensBefore: number;
    tokensAfter: number;
  };
  /** A compaction was undone: what it left out is in the prompts again. */
  'context.restored': { compactionId: string };
  /** The agent has replaced its plan; an empty one has no items. */
  'plan.changed': { callId: string; items: PlanItem[] };
  'budget.exhausted': { exhausted: BudgetKind; limit: number };
  note: { text: string };
}

/** One entry of a conversation's numbered log; `type` determines the fields of `data`. */
export type ConversationEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export interface EventOf<Type extends EventType> {
  /** Starts at 1 and has no gaps. */
  seq: number;
  /** ISO 8601, UTC. */
  at: string;
  conversationId: string;
  turnId?: string;
  stepId?: string;
  /** Attempt of the step's model call; a higher one tells a reader to drop the partial text of the attempt before it. */
  attempt?: number;
  type: Type;
  data: JsonObject & EventData[Type];
}
