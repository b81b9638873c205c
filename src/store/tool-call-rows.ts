import type { Json, JsonObject } from '../contracts/json.ts';
import type { ContentPart } from '../contracts/transcript.ts';
import type { SandboxPlace } from './sandbox-rows.ts';

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
  /** Grows with every claim; only the newest claim may write the result. */
  fence: number;
  content?: ContentPart[];
  isError: boolean;
  requestedAt: string;
  startedAt?: string;
  finishedAt?: string;
  /** The call whose code made this one; absent for calls of the model. */
  parentCallId?: string;
  /** The value that the code gets. */
  value?: Json;
}
export type NewToolCall = Pick<ToolCallRow, 'callId' | 'conversationId' | 'turnId' | 'stepId' | 'tool' | 'arguments' | 'hash'>;
/** The `number`-th call of an exec's code, and the container in which the code runs. */
export type NewMethodCall = NewToolCall & { number: number; parentCallId: string; from?: SandboxPlace };

/**
 * Result of a claim. `claimed`: run the call; `attempt` above 1 means that an earlier attempt may have had an effect.
 * `begunAt`: when it was claimed first, as `performance.now()` here tells it, whatever the clocks of the machines say. `settled`: it has its result. `mismatch`: the same id was used for another call.
 */
export type ClaimResult =
  | { outcome: 'claimed'; fence: number; attempt: number; call: ToolCallRow; begunAt: number }
  | { outcome: 'settled'; call: ToolCallRow }
  | { outcome: 'mismatch'; call: ToolCallRow }
  | { outcome: 'missing' };

export interface CallResult {
  state: Exclude<ToolCallState, 'proposed' | 'running'>;
  content: ContentPart[];
  isError: boolean;
  /** The value that code gets, for a call of code. */
  value?: Json;
}
