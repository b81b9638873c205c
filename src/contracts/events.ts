import type { JsonObject } from './json.ts';

export const EVENT_TYPES = [
  'conversation.started',
  'conversation.paused',
  'conversation.resumed',
  'conversation.closed',
  'message.received',
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
  'budget.exhausted',
  'note',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** One line of a conversation's numbered log. `seq` starts at 1 and has no gaps. */
export interface ConversationEvent {
  seq: number;
  /** ISO 8601, UTC. */
  at: string;
  conversationId: string;
  turnId?: string;
  stepId?: string;
  /** Attempt of the step's model call; a new one tells a reader to drop the partial text of the last. */
  attempt?: number;
  type: EventType;
  /**
   * By type: `text.delta` and `reasoning.delta` `{ text }`; `message.received` `{ messageId, text, steers }`; `turn.finished` `{ outcome, message? }`;
   * `step.finished` `{ usage }`; `tool.requested` `{ callId, tool, arguments, decision }`; `tool.approval-requested` `{ callId, tool, hash, why, arguments, expiresAtMs }`;
   * `tool.approval-resolved` `{ callId, tool, answer, by?, reason? }`; `tool.started` `{ callId, tool }`; `tool.output` `{ callId, stream, offset, text }` (`offset` in bytes; what is told again after a worker's death has an offset already passed);
   * `tool.finished` `{ callId, tool, isError, text, durationMs }`; `tool.unknown` `{ callId, tool, why }`; `sandbox.changed` `{ tier, from, lost? }`;
   * `budget.exhausted` `{ exhausted, limit }`; `conversation.paused` `{ by, note? }`; `note` `{ text }`.
   */
  data: JsonObject;
}
