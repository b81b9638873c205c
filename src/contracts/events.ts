import type { ApprovalAnswer, BudgetKind, PauseReason, SandboxTier, TurnOutcome } from './conversation.ts';
import type { JsonObject } from './json.ts';
import type { ScheduledBy } from './schedule.ts';
import type { ContentPart } from './transcript.ts';
import type { Usage } from './usage.ts';

export const EVENT_TYPES = [
  'conversation.started',
  'conversation.paused',
  'conversation.resumed',
  'conversation.closed',
  'message.received',
  'message.sent',
  'turn.started',
  'turn.finished',
  'step.started',
  'step.finished',
  'text.delta',
  'reasoning.delta',
  'tool.requested',
  'tool.approval-requested',
  'tool.approval-resolved',
  'tool.started',
  'tool.output',
  'tool.finished',
  'tool.unknown',
  'sandbox.changed',
  'sandbox.egress',
  'budget.exhausted',
  'note',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The data of each type of event. New fields may be added to any of them; a reader ignores fields that it does not know. */
export interface EventData {
  /** `scheduledBy`: present when a schedule started the conversation. */
  'conversation.started': { agentId: string; userId: string; tenantId: string; scheduledBy?: ScheduledBy };
  'conversation.paused': { by: PauseReason['by']; note?: string };
  'conversation.resumed': JsonObject;
  'conversation.closed': JsonObject;
  'message.received': { messageId: string; text: string; steers: boolean };
  /** A tool sent something to the user before it had its result; `index` counts what this call sent, from 0. */
  'message.sent': { callId: string; tool: string; index: number; part: ContentPart };
  /** `wokenBy`: the call whose note started the turn; absent when a message or an operator started it. */
  'turn.started': { wokenBy?: string };
  'turn.finished': { outcome: TurnOutcome; message?: string };
  'step.started': { step: number; attempt: number };
  'step.finished': { usage: Usage };
  'text.delta': { text: string };
  'reasoning.delta': { text: string };
  /**
   * `parentCallId`: the call whose code requested this one; absent when the model did. `arguments` are absent when they have more than 16 KB; then
   * `argumentsBytes` is present. The transcript has all arguments of the model's calls.
   */
  'tool.requested': { callId: string; tool: string; arguments?: JsonObject; argumentsBytes?: number; decision: string; why: string; parentCallId?: string };
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
  'tool.started': { callId: string; tool: string };
  /**
   * `offset`: position in the stream, in bytes. `bytes`: length in the stream. When two workers both believed that they owned the call, output that both
   * reported has an offset that a reader has already passed.
   */
  'tool.output': { callId: string; stream: 'stdout' | 'stderr'; offset: number; bytes: number; text: string };
  'tool.finished': { callId: string; tool: string; isError: boolean; text: string; durationMs: number };
  'tool.unknown': { callId: string; tool: string; why: string };
  'sandbox.changed': { tier: SandboxTier; from: SandboxTier; lost?: string };
  /** A summary: recent connections with the same decision are one entry. `leftOut` counts connections without an entry. */
  'sandbox.egress': {
    decisions: { host: string; port?: number; decision: 'allowed' | 'refused'; why?: string; connections: number; sentBytes: number; receivedBytes: number }[];
    leftOut?: number;
  };
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
